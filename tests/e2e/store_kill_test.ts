/**
 * `kill -9` of every verb that writes markers, defaults, the ledger or the secret store, at random
 * moments, through the program that people run. The result is the old or the new state, never a
 * torn one, and nothing acknowledged is lost. One round for each verb by default; FLEETCTL_ROUNDS
 * overrides it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readHistory } from "core/ledger/history.ts";
import { parseKeyRing } from "core/crypto/signed_value.ts";
import {
  type Bench,
  finish,
  heal,
  openBench,
  readState,
  runAt,
  type State,
} from "tests/support/store_bench.ts";

interface Verb {
  readonly words: (round: number) => readonly string[] | Promise<readonly string[]>;
  readonly stdin?: () => string;
  /** Brings the host to a state in which the verb has something to change. */
  readonly before?: (bench: Bench) => Promise<void>;
  /** Returns whether `now` is the state that the verb makes of `old`. */
  readonly isNew: (old: State, now: State, round: number) => boolean;
}

/** Compares two states, except for the parts that a verb changes. */
function isSameBut(old: State, now: State, ...changed: readonly (keyof State)[]): boolean {
  return (Object.keys(old) as (keyof State)[]).every((part) =>
    changed.includes(part) || JSON.stringify(old[part]) === JSON.stringify(now[part])
  );
}

/** Returns whether exactly the named secrets differ. */
function areChanged(old: State, now: State, keys: readonly string[]): boolean {
  const [left, right] = [old.secrets ?? {}, now.secrets ?? {}];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return isSameBut(old, now, "secrets") &&
    names.every((name) => (left[name] !== right[name]) === keys.includes(name));
}

function ringOf(state: State, key: string) {
  const ring = parseKeyRing(state.secrets?.[key] ?? "", key);
  assert(ring.ok, `${key} is no ring`);
  return ring.value;
}

let recoveryKey = "";

const VERBS: Readonly<Record<string, Verb>> = {
  "secret set": {
    words: (round) => ["secret", "set", `K_${round}`, "--value", `value ${round}`],
    isNew: (old, now, round) =>
      areChanged(old, now, [`K_${round}`]) && now.secrets?.[`K_${round}`] === `value ${round}`,
  },
  "secret set --agent": {
    words: () => ["secret", "set", "TOKEN", "--value", crypto.randomUUID(), "--agent", "ada"],
    isNew: (old, now) => areChanged(old, now, ["ada TOKEN"]),
  },
  "secret unset": {
    words: () => ["secret", "unset", "GONE"],
    before: async (bench) => void await finish(bench, ["secret", "set", "GONE", "--value", "x"]),
    isNew: (old, now) => areChanged(old, now, ["GONE"]) && now.secrets?.GONE === undefined,
  },
  "secret rotate hmac": {
    words: () => ["secret", "rotate", "hmac"],
    isNew: (old, now) =>
      areChanged(old, now, ["WEBVIEW_HMAC_KEY"]) &&
      ringOf(now, "WEBVIEW_HMAC_KEY")[1]?.key === ringOf(old, "WEBVIEW_HMAC_KEY")[0].key,
  },
  "secret rotate assertion": {
    words: () => ["secret", "rotate", "assertion", "--revoke"],
    isNew: (old, now) =>
      areChanged(old, now, ["WEBVIEW_ASSERTION_KEY"]) &&
      ringOf(now, "WEBVIEW_ASSERTION_KEY").length === 1,
  },
  "secret rotate host-op": {
    words: () => ["secret", "rotate", "host-op"],
    isNew: (old, now) =>
      areChanged(old, now, ["FLEETCTL_HOST_OP_SECRET", "FLEETCTL_HOST_OP_GRANT_SECRET"]),
  },
  "secret rotate recipient": {
    words: () => ["secret", "rotate", "recipient"],
    isNew: (old, now) => isSameBut(old, now),
  },
  "secret recovery add": {
    words: () => ["secret", "recovery", "add"],
    isNew: (old, now) => isSameBut(old, now, "readers") && now.readers === (old.readers ?? 0) + 1,
  },
  "secret recover": {
    words: () => ["secret", "recover", "--key", "-"],
    stdin: () => recoveryKey,
    before: async ({ paths }) => await Deno.remove(paths.hostKey),
    isNew: (old, now) => isSameBut(old, now, "secrets", "readers") && now.secrets !== undefined,
  },
  "host set": {
    words: (round) => ["host", "set", "teams_gateway", `host-${round}`],
    isNew: (old, now, round) =>
      isSameBut(old, now, "markers") && now.markers.includes(`teams_gateway: host-${round}`),
  },
  "host unset": {
    words: () => ["host", "unset", "teams_gateway"],
    before: async (bench) => void await finish(bench, ["host", "set", "teams_gateway", "here"]),
    isNew: (old, now) => isSameBut(old, now, "markers") && !now.markers.includes("teams_gateway"),
  },
  "secret rewrap": {
    words: () => ["secret", "rewrap"],
    isNew: (old, now) => isSameBut(old, now),
  },
  "defaults remove": {
    words: () => ["defaults", "remove", "tools", "agent-message"],
    before: async (bench) =>
      void await finish(bench, ["defaults", "add", "tools", "agent-message"]),
    isNew: (old, now) => isSameBut(old, now, "defaults") && !now.defaults.includes("agent-message"),
  },
  "defaults add": {
    words: () => ["defaults", "add", "tools", "agent-message"],
    before: async (bench) =>
      void await finish(bench, ["defaults", "remove", "tools", "agent-message"]),
    isNew: (old, now) => isSameBut(old, now, "defaults") && now.defaults.includes("agent-message"),
  },
  "ledger revert": {
    words: () => ["ledger", "revert", lastChange],
    before: async (bench) => {
      agentsBefore = JSON.stringify((await readState(bench)).agents);
      await finish(bench, ["agents", "set", "ada", "--model", `m-${crypto.randomUUID()}`]);
      const history = await readHistory(bench.host, bench.paths, { limit: 1 });
      assert(history.ok);
      lastChange = history.value[0]?.commit ?? "";
    },
    isNew: (old, now) =>
      isSameBut(old, now, "agents") && JSON.stringify(now.agents) === agentsBefore,
  },
};
let lastChange = "";
let agentsBefore = "";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? Object.keys(VERBS).length);

Deno.test(`kill -9 of a verb leaves the old or the new state, ${ROUNDS} times`, async () => {
  const root = await Deno.makeTempDir({ prefix: "store-kill-" });
  try {
    const bench = await openBench(root);
    recoveryKey = await finish(bench, ["secret", "recovery", "add"]);
    const names = Object.keys(VERBS);
    const tookMs = new Map<string, number>();
    const seen = { killed: 0, acknowledged: 0, changed: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const name = names[round % names.length] ?? "";
      const verb = VERBS[name] as Verb;
      await verb.before?.(bench);
      const old = await readState(bench);
      // An earlier complete run gives the verb's duration; kills fall within it or shortly after.
      const whole = tookMs.get(name) ?? 600;
      const begun = performance.now();
      const ended = await runAt(bench, await verb.words(round), {
        stdin: verb.stdin?.(),
        killAfterMs: whole * (0.2 + 0.9 * Math.random()),
      });
      if (ended.code !== undefined) tookMs.set(name, performance.now() - begun);
      await heal(bench);
      const now = await readState(bench);
      const isNew = verb.isNew(old, now, round);
      const message = `round ${round}, ${name}, code ${ended.code}\n${ended.out}`;
      assert(isNew || isSameBut(old, now), message);
      if (ended.code === undefined) seen.killed++;
      else assert(ended.code === 0 && isNew, message);
      if (ended.code === 0) seen.acknowledged++;
      if (isNew) seen.changed++;
      // Recover a host whose key is gone.
      if (now.secrets === undefined) {
        const again = await runAt(bench, await verb.words(round), { stdin: recoveryKey });
        assert.equal(again.code, 0, again.out);
      }
    }
    console.log(`of ${ROUNDS}: ${JSON.stringify(seen)}`);
    assert(seen.killed > 0, "no verb was killed");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
