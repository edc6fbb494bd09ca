/**
 * A gateway process is killed while a host applies, with the host's real unit and a daemon behind a
 * real socket. The page states that it does not know the result; the host reconnects, and the next
 * apply works.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type DialKey, generateDialKey } from "core/dial/proof.ts";
import type { HostName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { startChaosProxy } from "tests/support/chaos_proxy.ts";
import { startGatewayProcess } from "tests/support/gateway_process.ts";
import { WELL } from "tests/support/hosts_story.ts";
import { buildPage, BUILT, startIdentityProxy } from "tests/support/page_scene.ts";
import { startHostUnit } from "units/dial/host_unit.ts";

const ENV = { WEBVIEW_ADMINS: '["mia"]' };

/** Sets up the page and one host's dial key below a root; returns the key. */
async function prepareRoot(root: string): Promise<DialKey> {
  const paths = pathsUnder(root);
  await Deno.mkdir(`${root}/usr/lib/fleetctl`, { recursive: true });
  await Deno.mkdir(paths.run, { recursive: true });
  await Deno.mkdir(`${root}/etc/fleetctl`, { recursive: true });
  await new Deno.Command("cp", { args: ["-R", BUILT, `${root}/usr/lib/fleetctl/web`] }).output();
  const { key } = await generateDialKey();
  await Deno.writeTextFile(paths.dialKeys, JSON.stringify({ "host:boreas": [key.publicKey] }));
  return key;
}

/** A daemon that answers every verb; its first `apply` waits until `held` resolves. */
async function startDaemon(own: MemoryHost, socket: string) {
  const asked: string[] = [];
  const held = Promise.withResolvers<void>();
  const listener = await own.sockets.serveUnix(socket, 0o600, async (stream) => {
    const { value } = await stream.readable.getReader().read();
    const { argv } = JSON.parse(new TextDecoder().decode(value));
    asked.push(argv[0]);
    if (argv[0] === "apply" && asked.filter((verb) => verb === "apply").length === 1) {
      await held.promise;
    }
    const report = argv[0] === "status" ? WELL : { files: [], units: [], faults: [] };
    const lines = [{ type: "out", text: JSON.stringify(report) }, { type: "exit", code: 0 }];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    // The caller may have disconnected, for example because its gateway was killed.
    await stream.writable.getWriter().write(new TextEncoder().encode(text)).catch(() => {});
    stream.close();
  });
  return { asked, held, close: () => listener.close() };
}

Deno.test({
  name: "a page shows no false result of an apply when the gateway is killed during it",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await buildPage();
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const paths = pathsUnder(root);
    const key = await prepareRoot(root);
    const own = memoryHost();
    const daemon = await startDaemon(own, paths.daemonSocket);
    const { asked, held } = daemon;
    let gateway = await startGatewayProcess(root, ENV);
    const portOf = (address: string) => Number(new URL(address).port);
    const dial = startChaosProxy(portOf(gateway.dial));
    const link = startChaosProxy(portOf(gateway.cockpit));
    const proxy = startIdentityProxy(`http://127.0.0.1:${link.port}`, {
      prove: () => Promise.resolve({ "x-user-email": "mia@example.org" }),
    });
    const unit = startHostUnit(
      {
        paths,
        hostname: "boreas" as HostName,
        credentials: "/",
        gatewayUrl: new URL(`ws://127.0.0.1:${dial.port}`),
      },
      own,
      { key, version: "9.9.9" },
    );
    const browser = await startBrowser();
    try {
      await using watched = await openPage(browser, { isTimeReal: true });
      const { page } = watched;
      await page.goto(`http://localhost:${proxy.port}/hosts`);
      await page.getByText("No problems").waitFor();
      await page.getByRole("button", { name: "Apply on boreas" }).click();
      await page.getByRole("button", { name: "Apply", exact: true }).click();
      await page.locator(".is-running").waitFor();
      while (!asked.includes("apply")) await new Promise((go) => setTimeout(go, 5));

      await gateway.kill();
      link.cut();
      dial.cut();
      gateway = await startGatewayProcess(root, ENV);
      link.retarget(portOf(gateway.cockpit));
      dial.retarget(portOf(gateway.dial));
      await page.evaluate("dispatchEvent(new Event('online'))");
      await page.getByText("The gateway restarted meanwhile").waitFor();
      await page.locator(".is-open").waitFor();
      await page.getByText("fleetctl audit list --caller host").waitFor();

      held.resolve();
      while (!unit.isConnected()) {
        await own.clock.advance(1_000);
        await new Promise((go) => setTimeout(go, 5));
      }
      await page.getByText("connected just now").waitFor();
      await page.getByRole("button", { name: "Apply on boreas" }).click();
      await page.getByRole("button", { name: "Apply", exact: true }).click();
      await page.getByText("no changes needed").waitFor();
      assert.equal(asked.filter((verb) => verb === "apply").length, 2);
      assert.deepEqual(watched.faults, []);
    } finally {
      held.resolve();
      await browser.close();
      await unit.close();
      await proxy.close();
      await link.close();
      await dial.close();
      await gateway.kill();
      await daemon.close();
      await Deno.remove(root, { recursive: true });
    }
  },
});
