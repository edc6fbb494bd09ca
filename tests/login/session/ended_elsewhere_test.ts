/**
 * Sessions that end while the proxy remembers them or is looking them up: none is taken again, for a
 * lease that is taken afterwards would never be cut.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openSigner } from "core/signed_value.ts";
import { createDiskReserve } from "core/disk_reserve.ts";
import { createLeases } from "login/session/leases.ts";
import { createSessions, SESSION_PURPOSE, type Sessions } from "login/session/sessions.ts";
import { createLoginRig, MIA } from "tests/support/login_fixture.ts";

interface Scene {
  readonly sessions: Sessions;
  readonly token: string;
  readonly id: string;
  /** What another process does: the row is gone, and the file has another version. */
  endElsewhere(): void;
  /** The next look-up waits for `open`; `asked` settles when it has begun. */
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

Deno.test("a session that is remembered is unknown after the look that another process's end causes", async () => {
  const { sessions, token, endElsewhere } = await sceneOf();
  assert.equal((await sessions.read(token)).ok, true);
  endElsewhere();
  sessions.look();
  assert.deepEqual(await sessions.read(token), { ok: false, error: "unknown" });
});

const ENDS: readonly (readonly [string, (scene: Scene) => unknown])[] = [
  ["by another process, before a look", ({ endElsewhere }) => endElsewhere()],
  ["by another process, with a look", ({ endElsewhere, sessions }) => {
    endElsewhere();
    sessions.look();
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
