/**
 * A session ends while a request, a stream or a socket opens: in any order, nothing stays open
 * afterwards. Each combination runs 400 races; `FLEETCTL_ROUNDS` sets another number.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SESSION_ENDED } from "login/session/leases.ts";
import {
  createLoginRig,
  type LoginRig,
  MIA,
  ORIGIN,
  OWN_SCRIPT,
  proxyRequestOf,
} from "tests/support/login_fixture.ts";
import { interleave, offsets } from "tests/support/interleavings.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "400");
const PEER = "127.0.0.1:40000";

/** One session: its cookie and its token. */
interface Opened {
  readonly cookie: string;
  readonly token: string;
}

async function open(rig: LoginRig): Promise<Opened> {
  const opened = await rig.deps.sessions.open(MIA.name, { client: "127.0.0.1", agent: "" });
  assert.ok(opened.ok);
  return { token: opened.value.token, cookie: `wv_session=${opened.value.token}` };
}

/** Ways to open something; each returns a function that tells whether it is still open. */
const OPENINGS: Readonly<
  Record<string, (rig: LoginRig, cookie: string) => Promise<() => Promise<boolean>>>
> = {
  "an event stream": async (rig, cookie) => {
    const answer = await rig.ask("/events", { headers: { cookie } });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      return () => Promise.resolve(false);
    }
    const reader = answer.body?.getReader();
    return async () => {
      // The cockpit sends nothing on this stream and never ends it: only an abort settles the read.
      const read = reader?.read().then(() => false, () => false);
      const isOpen = await Promise.race([read, laterTrue()]);
      if (isOpen) await reader?.cancel();
      return isOpen ?? false;
    };
  },
  "a change": async (rig, cookie) => {
    const answer = await rig.ask("/api/turns", {
      method: "POST",
      headers: { ...OWN_SCRIPT, cookie },
      body: "{}",
    });
    await answer.body?.cancel();
    return () => Promise.resolve(false);
  },
  "a socket": async (rig, cookie) => {
    const headers = {
      cookie,
      origin: ORIGIN,
      host: new URL(ORIGIN).host,
      upgrade: "websocket",
      connection: "Upgrade",
    };
    const request = new Request(`${ORIGIN}/terminal/socket`, { headers });
    const decided = await rig.app.upgrade(proxyRequestOf(request), PEER);
    if (decided.accept !== "tunnel") return () => Promise.resolve(false);
    const { signal, onClose } = decided.tunnel;
    signal.addEventListener("abort", onClose, { once: true });
    if (signal.aborted) onClose();
    return () => {
      const isOpen = !signal.aborted;
      onClose();
      return Promise.resolve(isOpen);
    };
  },
};

async function laterTrue(): Promise<boolean> {
  for (let task = 0; task < 20; task++) await Promise.resolve();
  return true;
}

/** Ways in which a session ends. */
const ENDS: Readonly<Record<string, (rig: LoginRig, opened: Opened) => Promise<void>>> = {
  "a logout": async (rig, { cookie }) => {
    const headers = { cookie, origin: ORIGIN };
    const answer = await rig.ask("/auth/logout", { method: "POST", headers });
    assert.equal(answer.status, 303);
  },
  "the end of all sessions by the operator": async (rig, { token }) => {
    const read = await rig.deps.sessions.read(token);
    rig.store.endAll(MIA.name);
    rig.deps.sessions.ended(read.ok ? [read.value.id] : []);
  },
};

for (const [what, opening] of Object.entries(OPENINGS)) {
  for (const [how, end] of Object.entries(ENDS)) {
    Deno.test(`${what} that opens while ${how} runs does not stay open`, async () => {
      const rig = await createLoginRig({
        cockpit: ({ url }) =>
          url.endsWith("/events") ? new Response(new ReadableStream({})) : new Response("ok"),
      });
      let left = 0;
      for (const offset of offsets(ROUNDS)) {
        const opened = await open(rig);
        // The signature is cached, as for every session in use.
        await rig.deps.sessions.read(opened.token);
        const isOpen = await interleave(
          offset,
          () => opening(rig, opened.cookie),
          () => end(rig, opened),
        );
        if (await isOpen()) left++;
      }
      assert.equal(left, 0, `${left} of ${ROUNDS} stayed open`);
      assert.equal(rig.leases.count(), 0, `leases that were never released (${SESSION_ENDED})`);
    });
  }
}
