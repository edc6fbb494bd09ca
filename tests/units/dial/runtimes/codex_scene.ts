/**
 * The driver of the shipped definition `codex` with a fake program behind it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import type { RuntimeSession, RuntimeUpdate, TurnOutcome } from "units/dial/runtimes/driver.ts";
import { type JsonPeer, jsonPeer, type PeerMessage } from "tests/fakes/json_peer.ts";
import type { FakeProgram } from "tests/fakes/processes.ts";
import {
  type DriverScene,
  sceneOf,
  type SceneOptions,
  withTime,
} from "tests/units/dial/runtimes/driver_scene.ts";

export const THREAD = "thread-1";
export const TURN = "turn-1";

/** Creates the driver; its program is a function. */
export function openCodex(program: FakeProgram, options: SceneOptions = {}): DriverScene {
  const definition = shippedDefinitions().get("codex");
  assert.ok(definition !== undefined);
  return sceneOf(definition, [definition.command, program], options);
}

/** The program's answer to the start of a thread. */
export const OPENED = {
  thread: { id: THREAD },
  approvalPolicy: "untrusted",
  approvalsReviewer: "user",
  sandbox: { type: "dangerFullAccess" },
};

/** How the peer handles a message; undefined means the protocol's default answer. */
export type CodexScript = (peer: JsonPeer, message: PeerMessage) => Promise<void> | undefined;

/**
 * A driver whose peer completes the handshake, opens a thread, and follows `script` for the rest.
 */
export function codexScene(
  script: CodexScript,
  options: SceneOptions = {},
): DriverScene & { readonly peers: JsonPeer[] } {
  const peers: JsonPeer[] = [];
  const opened = openCodex(async (call) => {
    const peer = jsonPeer(call);
    peers.push(peer);
    await peer.serve(async (message) => {
      const answered = script(peer, message);
      if (answered !== undefined) return await answered;
      if (message.id === undefined || message.method === undefined) return;
      const isThread = message.method.startsWith("thread/");
      await peer.say({ id: message.id, result: isThread ? OPENED : {} });
    });
  }, options);
  return { ...opened, peers };
}

/** A notification about the running turn. */
export const note = (method: string, params: Readonly<Record<string, unknown>> = {}) => ({
  method,
  params: { threadId: THREAD, turnId: TURN, ...params },
});
/** The answer to a prompt. */
export const TAKEN = { turn: { id: TURN } };
export const STARTED = note("turn/started", { turn: { id: TURN, status: "inProgress" } });
export const ended = (status: string, error: unknown = null) =>
  note("turn/completed", { turn: { id: TURN, status, error } });
export const item = (method: "started" | "completed", fields: Readonly<Record<string, unknown>>) =>
  note(`item/${method}`, { item: fields });

/** A peer that answers each prompt with these messages and then ends the turn. */
export const answering = (...messages: readonly unknown[]): CodexScript => (peer, { id, method }) =>
  method === "turn/start"
    ? peer.say({ id, result: TAKEN }, STARTED, ...messages, ended("completed"))
    : undefined;

/** Runs a turn in a session; calls `on` with each update as it arrives. */
export async function promptIn(
  { host }: DriverScene,
  session: RuntimeSession,
  { text = "go", on }: {
    readonly text?: string;
    readonly on?: (update: RuntimeUpdate) => void;
  } = {},
): Promise<{ readonly seen: readonly RuntimeUpdate[]; readonly outcome: TurnOutcome }> {
  const seen: RuntimeUpdate[] = [];
  const prompt = session.prompt({ turnId: "t", text }, (update) => {
    seen.push("durationMs" in update ? { ...update, durationMs: 0 } : update);
    on?.(update);
    return Promise.resolve();
  });
  return { outcome: await withTime(host, prompt), seen };
}

/** Starts the driver, runs a turn, and ends the program. */
export async function runTurn(of: DriverScene) {
  const session = await withTime(of.host, of.driver.start());
  const done = await promptIn(of, session);
  await withTime(of.host, session.close(1_000));
  return done;
}
