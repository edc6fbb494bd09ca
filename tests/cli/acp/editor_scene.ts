/**
 * An editor, with the official ACP client, before an agent whose turns the test plays.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { createEditorAgent, type EditorAgentDeps } from "cli/acp/editor_agent.ts";
import { editorStream } from "cli/acp/editor_stream.ts";
import type { PromptedTurn } from "cli/acp/editor_session.ts";
import type { EndedTurn, TurnWatcher } from "cli/ask_turn.ts";
import { ok, type Result } from "core/result.ts";
import { type FakeClock, fakeClock } from "tests/fakes/clock.ts";
import {
  type ConnectedEditor,
  connectEditor,
  type EditorOptions,
} from "tests/support/acp_editor.ts";

/** A turn that the agent has begun; the test plays the dial unit. */
export interface PlayedTurn {
  readonly text: string;
  /** Absent for the default conversation. */
  readonly conversation?: string;
  readonly watcher: TurnWatcher;
  event(kind: string, payload: Record<string, unknown>): Promise<void>;
  end(result: Result<EndedTurn>): void;
}

/** A permission request that the editor shows. */
export interface ShownRequest {
  readonly request: RequestPermissionRequest;
  /** Aborted when the agent withdraws the request. */
  readonly signal: AbortSignal;
  answer(response: RequestPermissionResponse): void;
}

/** The scene. */
export interface EditorScene extends ConnectedEditor {
  readonly clock: FakeClock;
  /** Resolves with the next turn that begins. */
  nextTurn(): Promise<PlayedTurn>;
  /** Resolves with the next permission request. */
  nextRequest(): Promise<ShownRequest>;
  /** Ends the connection as an editor that closes stdin. */
  close(): Promise<void>;
}

/** Values that arrive in order, for a reader that waits for the next. */
function queue<T>() {
  const values: T[] = [];
  const readers: ((value: T) => void)[] = [];
  return {
    put(value: T) {
      const reader = readers.shift();
      if (reader === undefined) values.push(value);
      else reader(value);
    },
    next: () => {
      const value = values.shift();
      return value === undefined
        ? new Promise<T>((resolve) => void readers.push(resolve))
        : Promise.resolve(value);
    },
  };
}

/** Opens the scene; the connection is initialized. */
export async function editorScene(
  more: Partial<EditorAgentDeps> = {},
  options: EditorOptions = {},
): Promise<EditorScene> {
  const clock = fakeClock();
  const turns = queue<PlayedTurn>();
  const requests = queue<ShownRequest>();
  const leave = new AbortController();
  let ids = 0;
  const app = createEditorAgent({
    name: "ada",
    host: "atlas",
    version: "1.2.3",
    clock,
    mayDecide: true,
    leave: leave.signal,
    newId: () => `${++ids}`,
    ready: async () => ok(undefined),
    runTurn: (turn, watcher) => playTurn(turn, watcher, turns.put),
    decide: async () => ok(undefined),
    answer: async () => ok(undefined),
    command: (line) => line,
    localized: (reason) => reason,
    ...more,
  });
  const toAgent = new TransformStream<Uint8Array, Uint8Array>();
  const toEditor = new TransformStream<Uint8Array, Uint8Array>();
  const out = toEditor.writable.getWriter();
  const agentSide = app.connect(
    editorStream(toAgent.readable, (line) => out.write(new TextEncoder().encode(line))),
  );
  agentSide.signal.addEventListener("abort", () => leave.abort());
  const stream = ndJsonStream(toAgent.writable, toEditor.readable);
  const editor = await connectEditor(stream, (request, signal) => {
    const { promise, resolve } = Promise.withResolvers<RequestPermissionResponse>();
    requests.put({ request, signal, answer: resolve });
    return promise;
  }, options);
  return {
    ...editor,
    clock,
    nextTurn: turns.next,
    nextRequest: requests.next,
    async close() {
      await toAgent.writable.close();
      await agentSide.closed;
      await out.close();
      await editor.closed;
    },
  };
}

function playTurn(
  turn: PromptedTurn,
  watcher: TurnWatcher,
  show: (turn: PlayedTurn) => void,
): Promise<Result<EndedTurn>> {
  const { promise, resolve } = Promise.withResolvers<Result<EndedTurn>>();
  show({
    ...turn,
    watcher,
    event: (kind, payload) => watcher.onUpdate({ type: "turn_event", kind, payload }),
    end: resolve,
  });
  return promise;
}

/** The end of a turn with this outcome. */
export function ending(outcome: string, more: Record<string, unknown> = {}): Result<EndedTurn> {
  return ok({ turnId: "t", end: { outcome, ...more } });
}

/** The text of an update that is a chunk. */
export function chunkText(update: SessionUpdate): string {
  assert.ok("content" in update && update.content !== null && !Array.isArray(update.content));
  return update.content?.type === "text" ? update.content.text : "";
}
