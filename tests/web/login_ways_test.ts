/**
 * A person logs in, in Chromium: by the form, with a keyboard, without JavaScript, and through a
 * real OpenID provider with its own pages. The pages have no accessibility findings and fit a
 * narrow window.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { openHost } from "core/os/host.ts";
import { findings, LOOKS, overflow } from "tests/support/axe.ts";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { HONEST_CLIENT, startHonestProvider } from "tests/support/honest_provider.ts";
import { MIA, startTestLogin } from "tests/support/login_fixture.ts";

interface Scene {
  readonly browser: Browser;
  /** Address of the proxy. */
  readonly url: string;
}

/**
 * Runs a test with a proxy in front of a cockpit that shows the user name and cookies it received.
 */
function test(
  name: string,
  run: (scene: Scene) => Promise<void>,
  withProvider = false,
): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const real = openHost({ log: { program: "login-ways", level: "error" } });
      const browser = await startBrowser();
      const provider = withProvider ? await startHonestProvider() : undefined;
      const cockpit = await real.sockets.serveHttp(
        { hostname: "127.0.0.1", port: 0 },
        (request) => {
          const who = request.headers.get("x-user-email") ?? "nobody";
          const cookies = request.headers.get("cookie") ?? "none";
          return new Response(
            `<!doctype html><html lang="en"><title>Cockpit</title><main><h1>Cockpit</h1>` +
              `<p id="who">${who}</p><p id="cookies">${cookies}</p></main></html>`,
            { headers: { "content-type": "text/html" } },
          );
        },
      );
      // The redirect address contains the port, and the provider needs that address first.
      const port = await freePort();
      const { proxy } = await startTestLogin(
        {
          ...memoryHost(),
          clock: real.clock,
          random: real.random,
          sockets: real.sockets,
          http: real.http,
        },
        `http://127.0.0.1:${cockpit.address.port}`,
        {
          WEBVIEW_LOGIN_LISTEN: `127.0.0.1:${port}`,
          ...(provider === undefined ? {} : {
            WEBVIEW_AUTH_DRIVER: "oidc",
            WEBVIEW_OIDC_ISSUER: provider.issuer,
            WEBVIEW_OIDC_CLIENT_ID: HONEST_CLIENT.id,
            WEBVIEW_OIDC_CLIENT_SECRET: HONEST_CLIENT.secret,
            WEBVIEW_URL: `http://localhost:${port}`,
          }),
        },
      );
      provider?.register(`http://localhost:${port}/auth/callback`);
      try {
        await run({ browser, url: `http://localhost:${port}` });
      } finally {
        await browser.close();
        await proxy.close();
        await cockpit.close(0);
        await provider?.[Symbol.asyncDispose]();
      }
    },
  });
}

async function freePort(): Promise<number> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return await Promise.resolve(port);
}

async function whoIs(page: Page): Promise<string> {
  return await page.locator("#who").innerText();
}

test("the form, with a keyboard, and without JavaScript", async ({ browser, url }) => {
  for (const javaScriptEnabled of [true, false]) {
    await using watched = await openPage(browser, { javaScriptEnabled, isTimeReal: true });
    const { page } = watched;
    await page.goto(`${url}/agents/ada?tab=1`);
    await page.getByLabel("E-mail address").waitFor();
    // The first field has the focus: type the name, Tab, the password, Enter.
    await page.keyboard.type(MIA.name);
    await page.keyboard.press("Tab");
    await page.keyboard.type(MIA.password);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${url}/agents/ada?tab=1`);
    assert.equal(await whoIs(page), MIA.name);
    assert.equal(await page.locator("#cookies").innerText(), "none");
    const names = (await page.context().cookies()).map(({ name }) => name);
    assert.deepEqual(names, ["wv_session"]);
    await page.goto(`${url}/auth/logout`);
    await page.getByLabel("E-mail address").waitFor();
    const left = (await page.context().cookies()).map(({ name }) => name);
    assert.deepEqual(left, ["wv_login_csrf"], "the form's alone");
  }
});

test("a real OpenID provider, and a logout", async ({ browser, url }) => {
  await using watched = await openPage(browser, { isTimeReal: true });
  const { page } = watched;
  await page.goto(`${url}/agents/ada?tab=1`);
  await page.locator("input[name=login]").fill("ada");
  await page.locator("input[name=password]").fill("anything");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${url}/agents/ada?tab=1`);
  assert.equal(await whoIs(page), "ada@example.org");
  assert.equal(
    await page.locator("#cookies").innerText(),
    "none",
    "no cookie of the proxy is forwarded",
  );
  const cookies = await page.context().cookies(url);
  assert.ok(
    cookies.every(({ httpOnly, secure, sameSite }) => httpOnly && secure && sameSite === "Lax"),
  );
  await page.goto(`${url}/auth/logout`);
  await page.getByRole("heading", { name: "You are logged out" }).waitFor();
  await page.goto(`${url}/auth/callback?code=x&state=y&iss=z`);
  await page.getByText("please try again").waitFor();
}, true);

test("the pages of a login have no findings and fit a narrow window", async ({ browser, url }) => {
  for (const options of Object.values(LOOKS)) {
    await using watched = await openPage(browser, { ...options, isTimeReal: true });
    const { page } = watched;
    for (const path of ["/auth/login?out=1", "/auth/callback?code=x&state=y"]) {
      await page.goto(url + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      assert.deepEqual(await findings(page), [], path);
      await page.setViewportSize({ width: 320, height: 640 });
      assert.equal(await overflow(page), 0, path);
    }
  }
}, true);
