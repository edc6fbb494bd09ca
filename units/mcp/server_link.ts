/**
 * One connection to an MCP server. The connection starts the server (socket activation), and its
 * end means that the server is gone. Lines are read and passed on one at a time, so that a slow
 * client slows the server down.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Wire } from "units/mcp/wire.ts";
import { err, ok, type Result } from "core/result.ts";
import { createLineFramer } from "units/mcp/line_framer.ts";
import { readServerFrame, type ServerLine } from "units/mcp/server_side.ts";

/** A live connection. */
export interface ServerLink {
  /** Starts to read; called once, when the proxy is ready for `onEnd`. */
  listen(handlers: LinkHandlers): void;
  /** Resolves when the kernel has accepted the bytes; rejects when the server is gone. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  close(): void;
}

/** Callbacks of the proxy that uses the link. */
export interface LinkHandlers {
  /** The next line is not read before this resolves. */
  readonly onLine: (line: ServerLine) => Promise<void>;
  /** Called once, after the last line; `hasOutput` is true if there was any line. */
  readonly onEnd: (end: LinkEnd) => void;
}

/** How a link ended. */
export interface LinkEnd {
  /** A sentence part. */
  readonly why: string;
  readonly hasOutput: boolean;
}

/** Connects to the socket of an MCP; a refusal names what was found at its path. */
export async function openLink(
  target: { readonly mcp: string; readonly socket: string },
  ports: { readonly clock: Pick<Clock, "after">; openServer(path: string): Promise<Wire> },
): Promise<Result<ServerLink>> {
  const connected = await connectInTime(target.socket, ports);
  if (!connected.ok) return err(unreachable(target, connected.error));
  const wire = connected.value;
  let isClosed = false;
  return ok({
    listen(handlers) {
      void readLines(wire, handlers, () => isClosed);
    },
    write: (bytes) => wire.write(bytes),
    close() {
      isClosed = true;
      wire.close();
    },
  });
}

async function connectInTime(
  path: string,
  ports: { readonly clock: Pick<Clock, "after">; openServer(path: string): Promise<Wire> },
): Promise<Result<Wire, unknown>> {
  let late = false;
  const { promise: expired, resolve } = Promise.withResolvers<Result<Wire, unknown>>();
  const stop = ports.clock.after(MCP_LIMITS.connectSeconds * 1000, () => {
    late = true;
    resolve(err(new Error(`it did not accept within ${MCP_LIMITS.connectSeconds} s`)));
  });
  const connecting = ports.openServer(path).then(
    (wire) => {
      if (late) wire.close();
      return ok(wire);
    },
    (thrown: unknown) => err(thrown),
  );
  try {
    return await Promise.race([connecting, expired]);
  } finally {
    stop();
  }
}

function unreachable(target: { readonly mcp: string; readonly socket: string }, thrown: unknown) {
  const { name, code } = thrown instanceof Error
    ? thrown as Error & { code?: unknown }
    : { name: "", code: undefined };
  const state = name === "NotFound" || code === "ENOENT"
    ? "does not exist"
    : name === "ConnectionRefused" || code === "ECONNREFUSED"
    ? "has no listener"
    : name === "PermissionDenied" || code === "EACCES"
    ? "belongs to another user"
    : `cannot be used: ${errorText(thrown)}`;
  // An MCP that is reached by URL has no socket; the fault is then the whole explanation.
  const found = target.socket === "" ? errorText(thrown) : `its socket "${target.socket}" ${state}`;
  return refusal(
    "mcp-unreachable",
    `Cannot reach MCP ${JSON.stringify(target.mcp)}: ${found}`,
    { hints: ["fleetctl apply self", "fleetctl mcp wired self"] },
  );
}

function isReset(thrown: unknown): boolean {
  const { name, code } = thrown as { readonly name?: unknown; readonly code?: unknown };
  return name === "ConnectionReset" || code === "ECONNRESET";
}

async function readLines(
  wire: Wire,
  handlers: LinkHandlers,
  isClosed: () => boolean,
): Promise<void> {
  const framer = createLineFramer(MCP_LIMITS.messageBytesMax);
  let why = "it ended";
  let hasOutput = false;
  try {
    for (let chunk = await wire.read(); chunk !== undefined; chunk = await wire.read()) {
      for (const frame of framer.push(chunk)) {
        hasOutput = true;
        const line = readServerFrame(frame);
        if (line !== undefined) await handlers.onLine(line);
      }
    }
    const rest = framer.pendingBytes();
    if (rest > 0) why = `it ended after ${rest} bytes of an unfinished message`;
  } catch (thrown) {
    // A server that ends with unread input resets the connection.
    if (!isReset(thrown)) why = `its connection broke: ${errorText(thrown)}`;
  }
  if (!isClosed()) wire.close();
  handlers.onEnd({
    why: isClosed() ? "the proxy closed the connection" : why,
    hasOutput: hasOutput,
  });
}
