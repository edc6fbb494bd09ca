/**
 * Runs verbs through the root daemon. The daemon identifies the gateway by its user and allows
 * only the few verbs whose scope names it. Each verb uses its own connection; the answer is the
 * JSON document that the verb prints.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { ByteStream, Sockets } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { connectDaemon, forward } from "core/verbs/daemon_client.ts";

/**
 * A verb waits for other verbs that change the host; `up` keeps the lock for a while at its start.
 */
const ANSWER_MS_MAX = 300_000;
/** Characters of the daemon's answer that are kept; the rest is dropped. */
const ANSWER_LENGTH_MAX = 64 * 1024;

/** A verb to run; its words include `--json`. */
export interface VerbCall {
  /** For messages: `enroll a dial key of agent "ada"`. */
  readonly what: string;
  readonly argv: readonly string[];
  /**
   * Value of a secret option. It is sent over the socket to the verb's stdin, never as an
   * argument.
   */
  readonly stdin?: string;
  /** Ends the wait only; the daemon finishes a verb that has started. */
  readonly signal?: AbortSignal;
}

/** Runs verbs. */
export interface VerbRunner {
  /** Returns the verb's JSON document, or the refusal that the verb printed. */
  run(call: VerbCall): Promise<Result<unknown>>;
}

/** Creates a runner for the daemon that listens on `socket`. */
export function daemonVerbs(
  ports: { readonly sockets: Pick<Sockets, "connectUnix">; readonly clock: Clock },
  socket: string,
): VerbRunner {
  return {
    run: async (call) => {
      let stream: ByteStream | undefined;
      try {
        stream = await connectDaemon(ports.sockets, socket);
      } catch (thrown) {
        return err(failed(call, errorText(thrown)));
      }
      return stream === undefined
        ? err(
          refusal(
            "daemon-not-running",
            `Cannot ${call.what}: no daemon answers on "${socket}", the daemon must be running`,
            { hints: ["systemctl restart fleetctl-daemon.service"] },
          ),
        )
        : await ask(stream, call, ports.clock);
    },
  };
}

async function ask(stream: ByteStream, call: VerbCall, clock: Clock): Promise<Result<unknown>> {
  const { argv, stdin, signal } = call;
  const hangUp = () => stream.close();
  const cancel = clock.after(ANSWER_MS_MAX, hangUp);
  signal?.addEventListener("abort", hangUp);
  let received = "";
  const keep = async (text: string) => {
    received = (received + text).slice(0, ANSWER_LENGTH_MAX);
  };
  try {
    const request = { argv, ...defined({ stdin }) };
    const code = await forward(stream, request, { out: keep, err: async () => {} });
    if (!code.ok) return code;
    const document = parse(received);
    if (code.value === 0) return ok(document);
    return err(
      refusalOf(document, code.value) ?? failed(call, `the verb ended with ${code.value}`),
    );
  } finally {
    cancel();
    signal?.removeEventListener("abort", hangUp);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The output was cut off, so only the exit code is usable.
    return undefined;
  }
}

/** Returns the refusal that a verb printed as JSON. The exit code gives its kind. */
function refusalOf(document: unknown, code: number): Refusal | undefined {
  const { error } = (document ?? {}) as { readonly error?: Record<string, unknown> };
  if (typeof error?.code !== "string" || typeof error.message !== "string") return undefined;
  return {
    code: error.code,
    kind: code === 4 ? "denied" : code === 2 ? "usage" : "refused",
    message: error.message,
    details: texts(error.details),
    hints: texts(error.hints),
  };
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function failed(call: VerbCall, found: string): Refusal {
  return refusal("verb-failed", `Cannot ${call.what}: ${found}`);
}
