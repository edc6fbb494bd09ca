/**
 * The pages of the login proxy in Chromium: reference pictures, accessibility and width in every
 * look, and the warning for an insecure address. The proxy is real; no cockpit runs behind it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { openHost } from "core/os/host.ts";
import { findings, LOOKS, overflow } from "tests/support/axe.ts";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { startTestLogin } from "tests/support/login_fixture.ts";
import { comparePicture, PICTURE_LOOKS } from "tests/support/pictures.ts";

/**
 * A host name with dots, as real hosts have: the command that contains it is the widest text on the
 * page.
 */
const FAR = "atlas-agents-production.fleet.internal.example.org";

interface LoginScreen {
  readonly name: string;
  readonly show: (page: Page, at: { readonly url: string; readonly port: string }) => Promise<void>;
}

const SCREENS: readonly LoginScreen[] = [
  {
    name: "login",
    show: async (page, { url }) => {
      await page.goto(url);
      await page.getByRole("button", { name: "Log in" }).waitFor();
    },
  },
  {
    name: "login-wrong",
    show: async (page, { url }) => {
      await page.goto(url);
      await page.getByLabel("E-mail address").fill("mia@example.org");
      await page.getByLabel("Password").fill("wrong");
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("alert").waitFor();
    },
  },
  {
    name: "login-insecure",
    show: async (page, { port }) => {
      await page.goto(`http://${FAR}:${port}/`);
      await page.getByRole("heading", { name: "You cannot log in at this address" }).waitFor();
      await page.getByText(/^ssh -N -L/).waitFor();
    },
  },
];

/** Returns a script that replaces the random port, so that pictures show the usual port. */
function samePort(port: string): string {
  return `for (const walk = document.createTreeWalker(document.body, 4); walk.nextNode();) {
    walk.currentNode.data = walk.currentNode.data.replaceAll("${port}", "8736");
  }`;
}

Deno.test({
  name: "every page of the login looks as its reference, fits its window and has no findings",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (t) => {
    const browser = await startBrowser([`--host-resolver-rules=MAP ${FAR} 127.0.0.1`]);
    const real = openHost({ log: { program: "login-pages", level: "error" } });
    try {
      await using blank = await openPage(browser);
      for (const screen of SCREENS) {
        for (const [look, options] of Object.entries({ ...LOOKS, ...PICTURE_LOOKS })) {
          await t.step(`${screen.name}, ${look}`, async () => {
            // A new proxy for each picture, because wrong passwords are counted.
            const { proxy, url } = await startTestLogin(
              { ...memoryHost(), sockets: real.sockets, http: real.http },
              "http://127.0.0.1:9",
            );
            await using _end = { [Symbol.asyncDispose]: () => proxy.close() };
            await using watched = await openPage(browser, options);
            const { page } = watched;
            await screen.show(page, { url, port: new URL(url).port });
            assert.deepEqual(await findings(page), []);
            assert.equal(await overflow(page), 0);
            // For the insecure address, the browser logs the same warning that the page shows.
            const logged = watched.faults.filter((line) =>
              !/Cross-Origin-Opener-Policy/.test(line)
            );
            assert.deepEqual(logged, []);
            if (!Object.hasOwn(PICTURE_LOOKS, look)) return;
            await page.evaluate(samePort(new URL(url).port));
            await comparePicture(page, blank.page, { name: `${screen.name}-${look}.png` });
          });
        }
      }
    } finally {
      await browser.close();
    }
  },
});
