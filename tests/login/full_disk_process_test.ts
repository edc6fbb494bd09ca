/**
 * Logging out and starting on a full disk. Requires permission to mount.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { openLoginStore } from "core/login/store.ts";
import { poll } from "tests/support/booted_host.ts";
import { logInByForm, startTestLogin } from "tests/support/login_fixture.ts";

const FOLDER = "var/lib/fleetctl/login";

interface Scene {
  readonly root: string;
  /** Fills the remaining space. */
  fill(): Promise<void>;
  /** Frees that space. */
  clear(): Promise<void>;
  /** Runs `work` with a freshly started proxy. */
  withProxy(work: (url: string) => Promise<void>): Promise<void>;
  /** Returns the ids of the sessions in the store. */
  stored(): Promise<readonly string[]>;
}

async function mounted(...args: readonly string[]): Promise<void> {
  const ended = await new Deno.Command("mount", { args: [...args] }).output();
  assert.ok(ended.success, new TextDecoder().decode(ended.stderr));
}

function test(name: string, run: (scene: Scene) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.uid() !== 0,
    fn: async () => {
      const root = await Deno.makeTempDir({ prefix: "login-full-" });
      const host = openHost({ log: { program: "login-full", level: "error" } });
      await mounted("-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", root);
      const cockpit = await host.sockets.serveHttp(
        { hostname: "127.0.0.1", port: 0 },
        () => new Response("ok"),
      );
      const upstream = `http://127.0.0.1:${cockpit.address.port}`;
      const filler = `${root}/filler`;
      try {
        await run({
          root,
          fill: () => fillDisk(filler),
          clear: () => Deno.remove(filler),
          withProxy: async (work) => {
            const { proxy, url } = await startTestLogin(host, upstream, { FLEETCTL_ROOT: root });
            try {
              await work(url);
            } finally {
              await proxy.close();
            }
          },
          stored: async () => {
            const store = await openLoginStore(host.databases, `${root}/${FOLDER}/login.db`);
            const ids = store.list().map(({ id }) => id);
            store.close();
            return ids;
          },
        });
      } finally {
        await cockpit.close(0);
        await new Deno.Command("umount", { args: ["-l", root] }).output();
        await Deno.remove(root);
      }
    },
  });
}

async function fillDisk(path: string): Promise<void> {
  using file = await Deno.open(path, { create: true, append: true });
  for (let size = 64 * 1024; size >= 1; size = Math.floor(size / 2)) {
    try {
      while (true) await file.write(new Uint8Array(size).fill(1));
    } catch (thrown) {
      assert.match(String(thrown), /No space left/);
    }
  }
}

async function asked(url: string, path: string, cookie: string): Promise<Response> {
  return await fetch(url + path, {
    headers: { cookie, accept: "text/html", "sec-fetch-site": "none" },
    redirect: "manual",
  });
}

async function statusOf(url: string, cookie: string): Promise<number> {
  const answer = await fetch(`${url}/api/agents`, { headers: { cookie } });
  await answer.body?.cancel();
  return answer.status;
}

test("a logout on a full disk is stored, and a restarted proxy serves", async (scene) => {
  let cookie = "";
  await scene.withProxy(async (url) => {
    cookie = await logInByForm(url);
    assert.equal(await statusOf(url, cookie), 200);
    await scene.fill();
    await exhaustLog(url);
    const done = await asked(url, "/auth/logout", cookie);
    await done.body?.cancel();
    assert.equal(done.status, 303);
    assert.equal(await statusOf(url, cookie), 401);
  });
  await scene.withProxy(async (url) => {
    assert.equal(await statusOf(url, cookie), 401, "a restart revives nothing");
  });
});

test("a logout that cannot be stored still counts, and is stored later", async (scene) => {
  await scene.withProxy(async (url) => {
    const cookie = await logInByForm(url);
    await Deno.remove(`${scene.root}/${FOLDER}/reserve`);
    await scene.fill();
    await exhaustLog(url);
    const done = await asked(url, "/auth/logout", cookie);
    assert.equal(done.status, 507);
    assert.match(await done.text(), /You are logged out now, but a restart .* may revive/);
    assert.match(done.headers.getSetCookie().join("\n"), /^wv_session=; .*Max-Age=0/);
    assert.equal(await statusOf(url, cookie), 401, "ended in this process all the same");
    const before = (await scene.stored()).length;
    await scene.clear();
    await poll(
      "stored end",
      async () => (await scene.stored()).length === before - 1 ? true : undefined,
    );
  });
});

/** Logs in until the store is full. Its log may still have allocated space. */
async function exhaustLog(url: string): Promise<void> {
  for (let login = 0; login < 200; login++) {
    try {
      await logInByForm(url);
    } catch (thrown) {
      assert.match(String(thrown), /the login answered 507/);
      return;
    }
  }
  assert.fail("the disk was never full");
}
