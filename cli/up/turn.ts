/**
 * Shows one turn from the command line as a transcript: the question, each tool call with its
 * arguments and result, the answer, and how it ended. Uses the routes of the page.
 *
 * @module
 */

import {
  cancelTurn,
  type CockpitClient,
  openEvents,
  postTurn,
  type StreamedEvent,
} from "cli/up/cockpit_client.ts";
import { type AttachmentInfo, EVENT_PAYLOADS } from "core/dial/event.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { imageWords } from "core/images/image.ts";
import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";

/** Number of lines of a tool result that are shown; the others are counted. */
const RESULT_LINES_MAX = 40;

/** After this silence a note suggests where to look. A long tool call is one reason for silence. */
const QUIET_MS = 20_000;

/** How the turn ended. */
export interface TurnReport {
  readonly turnId: string;
  readonly seconds: number;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

function indented(body: string, prefix: string): readonly string[] {
  return body.trimEnd().split("\n").map((line) => `${prefix}${printable(line)}`.trimEnd());
}

/**
 * Shortens a tool result, which may be long and is rarely meant for people. Answers are shown in
 * full.
 */
function firstLines(lines: readonly string[]): readonly string[] {
  const rest = lines.length - RESULT_LINES_MAX;
  return rest <= 0 ? lines : [...lines.slice(0, RESULT_LINES_MAX), `    (${rest} more lines)`];
}

/** Replaces control characters, so that a tool's output cannot control the terminal. */
export function printable(line: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what this removes
  return line.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");
}

const PLAN_MARKS = { pending: "[ ]", active: "[>]", done: "[x]" } as const;

/** Returns the line above a summary; `by` is who wrote it. */
export function summaryTitle(by: string): string {
  return by === "owner" ? "The summary was changed" : "Earlier messages were summarised";
}

/** What a program asks; the titles of its fields when it has no message. */
function askedText({ message, fields }: Readonly<Record<string, unknown>>): string {
  const titles = Array.isArray(fields) ? fields.map((field) => text(field?.title)) : [];
  return text(message) || titles.join("; ");
}

/** Describes a file of a turn: an image with its size in pixels. */
function fileText({ name, path, ...of }: AttachmentInfo & { readonly path?: string }): string {
  const { media_type: type, width, height, size: bytes } = of;
  const isImage = type !== undefined && width !== undefined && height !== undefined;
  const words = isImage ? imageWords({ type, width, height, bytes }) : `${bytes} B`;
  return `[${isImage ? "image" : "file"} ${words}: ${path ?? name}]`;
}

/** Returns the lines that one durable event adds to the transcript. */
export function transcriptLines(
  agent: string,
  event: Pick<StreamedEvent, "kind"> & { readonly data: { readonly payload?: unknown } },
): readonly string[] {
  const payload = (event.data.payload ?? {}) as Record<string, unknown>;
  const cut = Number(payload.cut_bytes ?? 0);
  const attached = EVENT_PAYLOADS.turn_asked.shape.files.safeParse(payload.files).data ?? [];
  const files = attached.flatMap((file) => indented(fileText(file), "  "));
  const cutNote = cut > 0 ? [`    (${cut} bytes cut)`] : [];
  switch (event.kind) {
    case "turn_queued":
      return [...indented(text(payload.text), "you: "), ...files];
    case "turn_asked":
      return [...indented(text(payload.text), `${printable(text(payload.by))}: `), ...files];
    case "approval_asked":
      return [
        `  waits for a human: fleetctl approvals show ${text(payload.approval_id).slice(0, 8)}`,
      ];
    case "question_asked":
      return [
        ...indented(askedText(payload), "  asks: "),
        `  waits for a person: fleetctl questions answer ${text(payload.question_id).slice(0, 8)}`,
      ];
    case "notice":
      return indented(text(payload.text), "note: ");
    case "plan": {
      const { data } = EVENT_PAYLOADS.plan.safeParse(payload);
      const entries = (data?.entries ?? []).map((entry) =>
        `${PLAN_MARKS[entry.state]} ${entry.text}`
      );
      return entries.flatMap((entry) => indented(entry, "  "));
    }
    case "turn_steered":
      return ["note: a message was sent into the turn", ...indented(text(payload.text), "  | ")];
    case "turn_ended":
      return payload.code === "steered" ? ["note: the running turn reads this message"] : [];
    case "summary":
      return [
        `note: ${summaryTitle(text(payload.by))}`,
        ...indented(text(payload.text), "  | "),
        ...cutNote,
      ];
    case "tool_call": {
      const name = payload.mcp === null || payload.mcp === undefined
        ? text(payload.tool)
        : `${text(payload.mcp)}.${text(payload.tool)}`;
      return [`  → ${printable(name)} ${printable(text(payload.arguments))}`, ...cutNote];
    }
    case "tool_result": {
      const took = `${Math.round(Number(payload.duration_ms ?? 0))} ms`;
      return [
        `  ← ${text(payload.status)} in ${took}`,
        ...firstLines(indented(text(payload.text), "    ")),
        ...cutNote,
      ];
    }
    case "attachment": {
      const parsed = EVENT_PAYLOADS.attachment.safeParse(payload);
      return parsed.success ? indented(fileText(parsed.data), "    ") : [];
    }
    case "message":
      return indented(text(payload.text), `${agent}: `);
    default:
      return [];
  }
}

/** The output of a transcript, and the signal that ends the wait for it. */
export interface TurnWatch {
  readonly print: (line: string) => void;
  /** Aborted by Ctrl-C, which cancels the turn. */
  readonly stop: AbortSignal;
}

/** Sends one turn and prints its transcript as it grows. Refuses unless the turn completes. */
export async function runTurn(
  client: CockpitClient,
  turn: { readonly agent: string; readonly text: string; readonly idempotencyKey: string },
  { print, stop }: TurnWatch,
): Promise<Result<TurnReport>> {
  const started = client.clock.monotonic();
  const stream = await openEvents(client, [`transcript:${turn.agent}`]);
  if (!stream.ok) return stream;
  let forgetStop = () => {};
  const quiet = quietNote(client.clock, () =>
    print(
      `note: nothing for ${QUIET_MS / 1000} s; ` +
        `fleetctl logs ${turn.agent} shows what it does`,
    ));
  try {
    const posted = await postTurn(client, turn);
    if (!posted.ok) return posted;
    const turnId = posted.value;
    forgetStop = onStop(stop, client.clock, {
      cancel: () => cancelTurn(client, { agent: turn.agent, turnId }),
      giveUp: () => stream.value.close(),
    });
    for await (const event of stream.value.events) {
      if (event.data.turn_id !== turnId) continue;
      quiet.restart();
      for (const line of transcriptLines(turn.agent, event)) print(line);
      if (event.kind !== "turn_ended") continue;
      const payload = event.data.payload as Record<string, unknown>;
      const seconds = (client.clock.monotonic() - started) / 1000;
      return payload.outcome === "completed" ? ok({ turnId, seconds }) : err(notCompleted(payload));
    }
    return err(stop.aborted ? turnStopped() : turnUnknown());
  } finally {
    quiet.stop();
    forgetStop();
    stream.value.close();
  }
}

/** Starts a timer that calls `say` once per silence. `restart` begins the next silence. */
function quietNote(
  clock: Pick<Clock, "after">,
  say: () => void,
): { readonly restart: () => void; readonly stop: () => void } {
  let stop = clock.after(QUIET_MS, say);
  const restart = () => {
    stop();
    stop = clock.after(QUIET_MS, say);
  };
  return { restart, stop: () => stop() };
}

/** Time that a cancelled turn has to report its end. */
const CANCEL_MS = 5_000;

/** Cancels at the first stop and gives up some time later. Returns a function that undoes this. */
function onStop(
  stop: AbortSignal,
  clock: Pick<Clock, "after">,
  act: { readonly cancel: () => Promise<void>; readonly giveUp: () => void },
): () => void {
  let forget = () => {};
  const stopped = () => {
    forget = clock.after(CANCEL_MS, act.giveUp);
    void act.cancel();
  };
  if (stop.aborted) stopped();
  else stop.addEventListener("abort", stopped, { once: true });
  return () => {
    stop.removeEventListener("abort", stopped);
    forget();
  };
}

/** Returns the refusal for a turn that did not complete. */
export function notCompleted(payload: Readonly<Record<string, unknown>>): Refusal {
  const outcome = text(payload.outcome);
  const how = outcome === "failed" ? "failed" : `was ${outcome}`;
  const why = payload.reason === undefined ? "" : `: ${printable(text(payload.reason))}`;
  return refusal(
    text(payload.code) || `turn-${outcome}`,
    `Cannot complete the turn: it ${how}${why}`,
  );
}

function turnUnknown(): Refusal {
  return refusal("turn-unknown", "Cannot determine how the turn ended: the event stream closed");
}

function turnStopped(): Refusal {
  return refusal(
    "turn-stopped",
    "Cannot complete the turn: it was cancelled but did not end in time",
    { hints: ["fleetctl status"] },
  );
}
