/**
 * The gateway's request to the daemon on a real unix socket, against daemons that accept it, refuse
 * it, break it off or are not running.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { DaemonFrame } from "core/verbs/daemon_frames.ts";
import { refusal } from "core/errors.ts";
import { daemonVerbs } from "gateway/daemon_verbs.ts";
import { ledgerClient } from "gateway/dial/ledger_client.ts";
import { memoryHost } from "tests/fakes/host.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const KEY = "A".repeat(43);

/**
 * Requests from a daemon that answers each request with these frames; undefined: it never answers.
 */
async function ask(
  frames: readonly DaemonFrame[] | undefined,
  signal: AbortSignal = new AbortController().signal,
  onRequest: (line: string) => void = () => {},
) {
  const folder = await Deno.makeTempDir({ prefix: "fctl" });
  const socket = `${folder}/s`;
  const host = memoryHost();
  const server = await host.sockets.serveUnix(socket, 0o600, async (stream) => {
    const reader = stream.readable.pipeThrough(new TextDecoderStream()).getReader();
    const { value = "" } = await reader.read();
    onRequest(value);
    if (frames === undefined) return;
    const writer = stream.writable.getWriter();
    const text = frames.map((frame) => `${JSON.stringify(frame)}\n`).join("");
    await writer.write(new TextEncoder().encode(text));
    stream.close();
  });
  try {
    return await ledgerClient(daemonVerbs(host, socket)).enroll({ agent: "ada", key: KEY }, signal);
  } finally {
    await server.close();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "ledgerClient() requests a first key, and resolves when the verb ends",
  ...SAFE,
  fn: async () => {
    let line = "";
    const done = await ask(
      [{ type: "out", text: "{}\n" }, { type: "exit", code: 0 }],
      undefined,
      (sent) => line = sent,
    );
    assert.deepEqual(done, { ok: true, value: undefined });
    const argv = ["agents", "key", "enroll", "--first", "--json", "--", "ada", KEY];
    assert.deepEqual(JSON.parse(line), { argv });
  },
});

const not = JSON.stringify({ error: { code: "x", message: "Cannot do it: no" } });
const ROWS: readonly [
  name: string,
  frames: readonly DaemonFrame[],
  code: string,
  message: RegExp,
][] = [
  [
    "the verb refuses",
    [{ type: "out", text: `${not.slice(0, 9)}` }, { type: "out", text: `${not.slice(9)}\n` }, {
      type: "exit",
      code: 4,
    }],
    "dial-key-not-taken",
    /^Cannot enroll a dial key of agent "ada": Cannot do it: no$/,
  ],
  [
    "the verb dies",
    [{ type: "out", text: "half" }, { type: "exit", code: 7 }],
    "dial-key-not-taken",
    /the verb ended with 7$/,
  ],
  [
    "the daemon refuses",
    [{ type: "refused", error: refusal("daemon-busy", "Cannot take the request") }],
    "daemon-busy",
    /^Cannot take/,
  ],
  ["the daemon disconnects", [], "daemon-lost", /closed the connection/],
];
for (const [name, frames, code, message] of ROWS) {
  Deno.test({
    name: `ledgerClient() answers ${code} when ${name}`,
    ...SAFE,
    fn: async () => {
      const answer = await ask(frames);
      assert.ok(!answer.ok);
      assert.equal(answer.error.code, code);
      assert.match(answer.error.message, message);
    },
  });
}

Deno.test({
  name: "ledgerClient() hangs up when the gateway stops",
  ...SAFE,
  fn: async () => {
    const stop = new AbortController();
    const answer = await ask(undefined, stop.signal, () => stop.abort());
    assert.equal(answer.ok ? "" : answer.error.code, "daemon-lost");
  },
});

Deno.test({
  name: "ledgerClient() reports an absent daemon when there is no answer",
  ...SAFE,
  fn: async () => {
    const signal = new AbortController().signal;
    const answer = await ledgerClient(daemonVerbs(memoryHost(), "/nowhere/s"))
      .enroll({ agent: "ada", key: KEY }, signal);
    assert.equal(answer.ok ? "" : answer.error.code, "daemon-not-running");
    const host = memoryHost();
    const sockets = { connectUnix: () => Promise.reject(new Deno.errors.NotCapable("write")) };
    const barred = await ledgerClient(daemonVerbs({ sockets, clock: host.clock }, "/nowhere/s"))
      .enroll({ agent: "ada", key: KEY }, signal);
    assert.equal(barred.ok ? "" : barred.error.code, "dial-key-not-taken");
  },
});
