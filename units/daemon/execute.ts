/**
 * Runs the only program that the daemon may run, `fleetctl-exec`: fixed path, no arguments, cleared
 * environment, fixed folder. The request and its grant go over stdin. Output is passed on as it
 * arrives.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import { logHint } from "core/hints/log_hint.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Child, Processes } from "core/ports/processes.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { printEnvelope } from "core/verbs/exec_envelope.ts";
import { type GrantSubject, signGrant } from "core/verbs/grant.ts";
import { readGrantKey } from "core/verbs/grant_key.ts";
import type { FrameWriter } from "units/daemon/frame_writer.ts";

/** The environment of a root execution. Nothing from the daemon's environment is passed on. */
const EXEC_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const NONCE_BYTES = 16;

/** Ports that an execution needs. */
export interface ExecutePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Pick<Files, "readText" | "stat">;
  readonly processes: Pick<Processes, "spawn">;
  readonly ownUid: number;
}

/**
 * Signs and runs one request; returns the exit code of the verb. `isKept` means that the verb runs
 * to its end even if its client disconnects.
 */
export async function execute(
  subject: GrantSubject,
  to: {
    readonly paths: Paths;
    readonly writer: FrameWriter;
    readonly isKept: boolean;
    /** What the client sends to a verb that serves it. */
    readonly input?: ReadableStream<Uint8Array>;
    /** Ends the verb early. */
    readonly signal?: AbortSignal;
  },
  ports: ExecutePorts,
): Promise<Result<number>> {
  const key = await readGrantKey(ports.files, to.paths, ports.ownUid);
  if (!key.ok) return key;
  const grant = await signGrant(key.value, subject, {
    now: ports.clock.now(),
    nonce: ports.random.bytes(NONCE_BYTES),
  });
  let child: Child;
  try {
    child = await ports.processes.spawn({
      command: to.paths.program("fleetctl-exec"),
      args: [],
      env: { PATH: EXEC_PATH, LC_ALL: "C.UTF-8", FLEETCTL_ROOT: to.paths.root },
      cwd: "/",
      group: true,
    });
  } catch (thrown) {
    return err(failed(errorText(thrown), to.paths));
  }
  const end = () => child.kill("SIGTERM");
  to.signal?.addEventListener("abort", end, { once: true });
  const stopProbe = to.isKept ? () => {} : endWhenUnread(child, to.writer, ports.clock);
  const [, , , exit] = await Promise.all([
    feed(child, printEnvelope({ ...subject, grant }), to.input),
    passOn(child, "out", to),
    passOn(child, "err", to),
    child.exited.finally(stopProbe),
  ]);
  to.signal?.removeEventListener("abort", end);
  return exit.code === undefined
    ? err(failed(`it ended by ${exit.signal}`, to.paths))
    : ok(exit.code);
}

async function feed(
  child: Child,
  envelope: string,
  input: ReadableStream<Uint8Array> = new Blob([]).stream(),
): Promise<void> {
  const writer = child.stdin.getWriter();
  const reader = input.getReader();
  // The verb may end before its client closes its side.
  void child.exited.then(() => reader.cancel().catch(() => {}));
  // A client that is lost ends its input too.
  const read = () => reader.read().catch(() => ({ done: true, value: undefined }));
  try {
    await writer.write(new TextEncoder().encode(envelope));
    for (let next = await read(); next.value !== undefined; next = await read()) {
      await writer.write(next.value);
    }
    await writer.close();
  } catch {
    // The child ended before it read everything. Its stderr and exit code state the reason.
  }
}

async function passOn(
  child: Child,
  type: "out" | "err",
  to: { readonly writer: FrameWriter; readonly isKept: boolean },
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of type === "out" ? child.stdout : child.stderr) {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== "") await to.writer.send({ type, text });
    // The client has disconnected, and this verb is safe to stop.
    if (to.writer.isGone() && !to.isKept) child.kill("SIGTERM");
  }
  const rest = decoder.decode();
  if (rest !== "") await to.writer.send({ type, text: rest });
}

/**
 * Ends a verb once its client has disconnected, if the verb only reads or only serves that client.
 * A verb that follows a log may print nothing for hours, so an empty frame is sent at intervals. A
 * client may close its writing side and still read, so only a write detects a disconnect. A verb
 * that changes the host is never ended.
 */
function endWhenUnread(child: Child, writer: FrameWriter, clock: Clock): () => void {
  const probeMs = DAEMON_LIMITS.probeSeconds * 1000;
  let isOver = false;
  const probe = async () => {
    await writer.send({ type: "out", text: "" });
    if (isOver) return;
    if (writer.isGone()) return child.kill("SIGTERM");
    cancel = clock.after(probeMs, probe);
  };
  let cancel = clock.after(probeMs, probe);
  return () => {
    isOver = true;
    cancel();
  };
}

function failed(found: string, paths: Paths) {
  return refusal("exec-failed", `Cannot run the verb as root: ${found}`, {
    hints: [logHint(paths, "fleetctl-daemon.service")],
  });
}
