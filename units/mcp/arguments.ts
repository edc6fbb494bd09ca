/**
 * The arguments of `fleetctl-mcp`. Pure: parses, never acts.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import { BUILTIN_SERVERS, type BuiltinServer } from "core/catalog/manifest_source.ts";
import { refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** The commands of the program. */
export type ProgramCommand =
  | { readonly kind: "proxy"; readonly mcp: string; readonly socket: string }
  /** The same for an MCP that is reached by URL; the gate file contains the URL. */
  | { readonly kind: "proxy-url"; readonly mcp: string }
  | { readonly kind: "serve"; readonly server: BuiltinServer }
  | { readonly kind: "check"; readonly mcp: string }
  | { readonly kind: "check-config" }
  | { readonly kind: "help" };

/** Shown for `--help` and after a usage fault. */
export const USAGE = `usage: fleetctl-mcp proxy <mcp> --socket <path>
       fleetctl-mcp proxy <mcp> --url
       fleetctl-mcp serve <${BUILTIN_SERVERS.join("|")}>
       fleetctl-mcp check <mcp>
       fleetctl-mcp --check-config

proxy  forwards MCP messages between stdio and the socket of an MCP, through the permission gate;
       with --url, an MCP that is reached by URL, with the agent's own keys
serve  runs one of the builtin MCP servers on stdio
check  checks that the files of an MCP are still those that were installed

example: fleetctl-mcp proxy git --socket /run/mcp/git-ada.sock`;

/** Parses the program's arguments. */
export function parseProgramArguments(args: readonly string[]): Result<ProgramCommand> {
  const [verb, word, ...rest] = args;
  if (verb === "--help" || verb === "-h") return ok({ kind: "help" });
  if (verb === "--check-config" && word === undefined) return ok({ kind: "check-config" });
  if (verb === "serve" && rest.length === 0) {
    return (BUILTIN_SERVERS as readonly string[]).includes(word ?? "")
      ? ok({ kind: "serve", server: word as BuiltinServer })
      : usage(`${JSON.stringify(word ?? "")} is not one of ${BUILTIN_SERVERS.join(", ")}`);
  }
  if (verb !== "proxy" && verb !== "check") {
    return usage(`${JSON.stringify(args.join(" ").slice(0, 80))} is not a command`);
  }
  const mcp = parseMcpName(word ?? "");
  if (!mcp.ok) return mcp;
  if (verb === "check") {
    return rest.length === 0
      ? ok({ kind: "check", mcp: mcp.value })
      : usage("check requires one name");
  }
  const [option, socket] = rest;
  if (option === "--url" && rest.length === 1) return ok({ kind: "proxy-url", mcp: mcp.value });
  if (option !== "--socket" || socket === undefined || rest.length !== 2) {
    return usage("proxy requires --socket <path> or --url");
  }
  const size = byteLength(socket);
  if (!socket.startsWith("/") || size > DAEMON_LIMITS.socketPathLengthMax) {
    return usage(
      `--socket must be an absolute path of at most ${DAEMON_LIMITS.socketPathLengthMax} bytes`,
    );
  }
  return ok({ kind: "proxy", mcp: mcp.value, socket });
}

function usage(state: string): Result<never> {
  return err(
    refusal("usage-invalid", `Cannot run the command: ${state}`, { kind: "usage" }),
  );
}
