/**
 * Rules for every runtime that exchanges lines of JSON, whichever protocol it uses: runtimes that
 * hang, print rubbish, flood, die while a person decides, or ignore a request to stop.
 *
 * @module
 */

import assert from "node:assert/strict";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { RuntimeUpdate, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { settle } from "tests/fakes/clock.ts";
import type { FakeCall, FakeProgram } from "tests/fakes/processes.ts";
import { openDriver } from "tests/units/dial/runtimes/line_scene.ts";
import { type DriverScene, withTime } from "tests/units/dial/runtimes/driver_scene.ts";
import { type JsonPeer, jsonPeer, type PeerMessage } from "tests/fakes/json_peer.ts";

/** The messages of one protocol, as these tests need them. */
interface Words {
  readonly protocol: "stream_json" | "rpc_jsonl";
  isPrompt(message: PeerMessage): boolean;
  /** Answers handshake messages; returns false for any other. */
  greet(peer: JsonPeer, message: PeerMessage): Promise<boolean>;
  begin(message: PeerMessage): readonly unknown[];
  say(text: string): unknown;
  readonly ask: unknown;
  readonly end: readonly unknown[];
}

const ID = "4d2c1a0e-0000-4000-8000-000000000001";
const STREAM_JSON: Words = {
  protocol: "stream_json",
  isPrompt: (message) => message.type === "user",
  greet: async (peer, message) => {
    if (message.request?.subtype !== "initialize") return false;
    const { request_id } = message;
    const response = { subtype: "success", request_id, response: {} };
    await peer.say({ type: "control_response", response });
    return true;
  },
  begin: () => [{ type: "stream_event", event: { type: "message_start", message: { id: "m" } } }],
  say: (text) => ({
    type: "stream_event",
    event: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    session_id: ID,
    parent_tool_use_id: null,
  }),
  ask: {
    type: "control_request",
    request_id: "q1",
    request: { subtype: "can_use_tool", tool_name: "Bash", input: { command: "rm x" } },
  },
  end: [{
    type: "result",
    subtype: "success",
    is_error: false,
    result: "",
    session_id: ID,
    stop_reason: "end_turn",
    num_turns: 1,
  }],
};
const RPC_JSONL: Words = {
  protocol: "rpc_jsonl",
  isPrompt: (message) => message.type === "prompt",
  greet: async (peer, { id, type }) => {
    if (type !== "get_state") return false;
    const data = { sessionFile: "/s/1.jsonl" };
    await peer.say({ id, type: "response", command: type, success: true, data });
    return true;
  },
  begin: ({ id }) => [
    { id, type: "response", command: "prompt", success: true },
    { type: "agent_start" },
  ],
  say: (text) => ({
    type: "message_update",
    assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: text },
  }),
  ask: { type: "extension_ui_request", id: "d1", method: "confirm", title: "Delete it?" },
  end: [{
    type: "agent_end",
    messages: [{ role: "assistant", content: [], stopReason: "stop" }],
  }, { type: "agent_settled" }],
};

type OnPrompt = (peer: JsonPeer, call: FakeCall, message: PeerMessage) => Promise<void>;

/**
 * A runtime that completes the handshake and passes each prompt to the test; it ends with its
 * input.
 */
function program(words: Words, onPrompt: OnPrompt): FakeProgram {
  return async (call) => {
    const peer = jsonPeer(call);
    await peer.serve(async (message) => {
      if (await words.greet(peer, message)) return;
      if (words.isPrompt(message)) await onPrompt(peer, call, message);
    }).catch(() => {
      // The driver releases the input of a program that has ended.
    });
  };
}

interface Run {
  readonly seen: readonly RuntimeUpdate[];
  readonly outcome: TurnOutcome;
}

async function runTurn(
  of: DriverScene,
  onUpdate: (update: RuntimeUpdate) => Promise<void> = () => Promise.resolve(),
): Promise<Run> {
  const session = await withTime(of.host, of.driver.start());
  const seen: RuntimeUpdate[] = [];
  const outcome = await withTime(
    of.host,
    session.prompt({ turnId: "t", text: "go" }, async (update) => {
      seen.push(update);
      await onUpdate(update);
    }),
  );
  await withTime(of.host, session.close(1_000));
  return { seen, outcome };
}

for (const words of [STREAM_JSON, RPC_JSONL]) {
  const { protocol } = words;
  const open = (onPrompt: OnPrompt, options: Parameters<typeof openDriver>[2] = {}) =>
    openDriver(protocol, program(words, onPrompt), options);

  Deno.test(`${protocol}: stdout lines that are not message are skipped`, async () => {
    const of = open(async (peer, call, message) => {
      await call.print("welcome!\n\n[1,2]\nnull\n{\n");
      await peer.say(...words.begin(message), {}, { type: "new_in_next_version", x: 1 });
      await call.print("\u0000\u001b[2J\n");
      await peer.say(words.say("hello"), ...words.end);
    });
    const { seen, outcome } = await runTurn(of);
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.deepEqual(seen.flatMap((one) => one.kind === "message" ? [one.text] : []), ["hello"]);
  });

  Deno.test(`${protocol}: an endless line interrupts the turn, in bounded memory`, async () => {
    const of = open(async (peer, call, message) => {
      await peer.say(...words.begin(message), words.say("half"));
      await call.print(`{"type":"${"x".repeat(MCP_LIMITS.messageBytesMax + 1)}`);
    });
    const { outcome } = await runTurn(of);
    assert.equal(outcome.outcome, "interrupted");
    assert.match(outcome.reason ?? "", /line/);
  });

  Deno.test(`${protocol}: a second turn is refused while one runs`, async () => {
    const of = open(async (peer, _call, message) => {
      await peer.say(...words.begin(message), words.say("first"));
      await peer.say(...words.end);
    });
    const session = await withTime(of.host, of.driver.start());
    const take = () => Promise.resolve();
    const first = session.prompt({ turnId: "t1", text: "go" }, take);
    const second = await session.prompt({ turnId: "t2", text: "go" }, take);
    assert.equal(second.outcome === "failed" && second.code, "turn-running");
    assert.deepEqual(await withTime(of.host, first), { outcome: "completed" });
    const third = await withTime(of.host, session.prompt({ turnId: "t3", text: "go" }, take));
    assert.deepEqual(third, { outcome: "completed" });
    await withTime(of.host, session.close(1_000));
  });

  Deno.test(`${protocol}: a runtime that does not stop on request is killed`, async () => {
    let killed: AbortSignal | undefined;
    const of = open(async (peer, call, message) => {
      killed = call.killed;
      await peer.say(...words.begin(message), words.say("on and on"));
    });
    const session = await withTime(of.host, of.driver.start());
    const asked = session.prompt({ turnId: "t", text: "go" }, async (update) => {
      if (update.kind === "text_delta") void session.cancel();
    });
    const outcome = await withTime(of.host, asked);
    assert.equal(outcome.outcome, "cancelled");
    assert.equal(killed?.reason, "SIGKILL");
    assert.match(await session.ended, /SIGKILL/);
  });

  Deno.test(`${protocol}: nothing more is read while an update waits to be stored`, async () => {
    const of = open(async (peer, _call, message) => {
      const many = Array.from({ length: 50 }, (_, at) => words.say(`${at} `));
      await peer.say(...words.begin(message), ...many, ...words.end);
    });
    const stored = Promise.withResolvers<void>();
    const session = await withTime(of.host, of.driver.start());
    let taken = 0;
    const asked = session.prompt({ turnId: "t", text: "go" }, async () => {
      taken++;
      await stored.promise;
    });
    for (let at = 0; at < 20; at++) await settle();
    assert.equal(taken, 1);
    stored.resolve();
    assert.deepEqual(await withTime(of.host, asked), { outcome: "completed" });
    assert.ok(taken > 50);
    await withTime(of.host, session.close(1_000));
  });

  Deno.test(`${protocol}: an update that cannot be stored fails and ends the turn`, async () => {
    const of = open(async (peer, _call, message) => {
      await peer.say(...words.begin(message), words.say("lost"));
    });
    const { outcome } = await runTurn(of, () => Promise.reject(new Error("disk full")));
    assert.equal(outcome.outcome, "failed", JSON.stringify(outcome));
  });

  Deno.test(`${protocol}: a runtime that dies during a decision leaves nothing`, async () => {
    const decided = Promise.withResolvers<{ decision: "allow" }>();
    const asked = Promise.withResolvers<void>();
    const of = openDriver(protocol, async (call) => {
      const peer = jsonPeer(call);
      const dead = Promise.withResolvers<number>();
      peer.serve(async (message) => {
        if (await words.greet(peer, message) || !words.isPrompt(message)) return;
        await peer.say(...words.begin(message), words.ask);
        await asked.promise;
        dead.resolve(9);
      }).catch(() => {
        // The driver releases the program's input when the program has ended.
      });
      return await dead.promise;
    }, {
      decidePermission: () => {
        asked.resolve();
        return decided.promise;
      },
    });
    const session = await withTime(of.host, of.driver.start());
    const outcome = await withTime(
      of.host,
      session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve()),
    );
    assert.equal(outcome.outcome, "interrupted");
    // A decision that comes too late is not written anywhere, and is not a fault.
    decided.resolve({ decision: "allow" });
    await settle();
    assert.match(await session.ended, /exit code 9/);
  });

  Deno.test(`${protocol}: a start that takes too long ends with the end of stderr`, async () => {
    const of = openDriver(protocol, async (call) => {
      await call.warn("opening the store\nError: the store is locked\n");
      await new Promise<void>((resolve) => call.killed.addEventListener("abort", () => resolve()));
    }, { needs: { startSeconds: 7 } });
    const started = of.host.clock.now();
    await assert.rejects(withTime(of.host, of.driver.start()), {
      message: 'Cannot start runtime "runtime-x": it did not answer within 7 s; ' +
        'last lines: "opening the store" "Error: the store is locked"',
    });
    assert.ok(of.host.clock.now() - started < 90_000);
  });

  Deno.test(`${protocol}: a runtime that does not end with its input is killed`, async () => {
    const of = openDriver(protocol, async (call) => {
      const peer = jsonPeer(call);
      await peer.serve(async (message) => void await words.greet(peer, message)).catch(() => {});
      await new Promise<void>((resolve) => call.killed.addEventListener("abort", () => resolve()));
    });
    const session = await withTime(of.host, of.driver.start());
    await withTime(of.host, session.close(1_000));
    assert.match(await session.ended, /SIGKILL/);
  });
}
