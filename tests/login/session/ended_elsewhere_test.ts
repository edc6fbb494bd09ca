/**
 * Sessions that end while the proxy has them cached or looks them up: none is accepted again,
 * because a later lease would never be aborted.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openSigner } from "core/crypto/signed_value.ts";
import { createDiskReserve } from "login/disk_reserve.ts";
import { createLeases } from "login/session/leases.ts";
import { createSessions, SESSION_PURPOSE, type Sessions } from "login/session/sessions.ts";
import { createLoginRig, MIA } from "tests/support/login_fixture.ts";

interface Scene {
  readonly sessions: Sessions;
  readonly token: string;
  readonly id: string;
  /** Simulates another process: deletes the row and changes the version of the file. */
  endElsewhere(): void;
  /** Blocks the next look-up until `open`; `asked` settles when the look-up has begun. */
  holdLookUp(): { readonly asked: Promise<void>; open(): void };
}

async function sceneOf(): Promise<Scene> {
  const { config, store, host } = await createLoginRig();
  let version = 1;
  let hold = (): Promise<void> => Promise.resolve();
  const sessions = createSessions({
    store: { ...store, version: () => version },
    signer: await openSigner(config.hmacKeys, SESSION_PURPOSE),
    leases: createLeases(host.clock),
    reserve: createDiskReserve("/r/reserve", host),
    fingerprints: async () => {
      await hold();
      return "of mia";
    },
    clock: host.clock,
    random: host.random,
    ttlMs: 3_600_000,
  });
  const opened = await sessions.open(MIA.name, { client: "10.0.0.1", agent: "" });
  assert.ok(opened.ok);
  return {
    sessions,
    token: opened.value.token,
    id: store.list()[0]?.id ?? "",
    endElsewhere: () => {
      store.endAll(MIA.name);
      version++;
    },
    holdLookUp: () => {
      const asked = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      hold = () => {
        asked.resolve();
        return gate.promise;
      };
      return { asked: asked.promise, open: gate.resolve };
    },
  };
}

Deno.test("a remembered session is unknown after another process's end", async () => {
  const { sessions, token, endElsewhere } = await sceneOf();
  assert.equal((await sessions.read(token)).ok, true);
  endElsewhere();
  sessions.syncWithStore();
  assert.deepEqual(await sessions.read(token), { ok: false, error: "unknown" });
});

const ENDS: readonly (readonly [string, (scene: Scene) => unknown])[] = [
  ["by another process, before a check", ({ endElsewhere }) => endElsewhere()],
  ["by another process, with a check", ({ endElsewhere, sessions }) => {
    endElsewhere();
    sessions.syncWithStore();
  }],
  ["by its own logout", async ({ sessions, id }) => {
    assert.equal((await sessions.end({ id, principal: MIA.name, expires: 0 })).ok, true);
  }],
];

for (const [name, end] of ENDS) {
  Deno.test(`a session that ends ${name}, is unknown to a look-up under way`, async () => {
    const scene = await sceneOf();
    const { asked, open } = scene.holdLookUp();
    const read = scene.sessions.read(scene.token);
    await asked;
    const ended = end(scene);
    open();
    await ended;
    assert.deepEqual(await read, { ok: false, error: "unknown" });
    assert.deepEqual(await scene.sessions.read(scene.token), { ok: false, error: "unknown" });
  });
}
