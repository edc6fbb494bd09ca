/**
 * The parsed `[Socket]` section: a unix stream socket that starts one server per connection. No
 * I/O. `Accept=no` is refused: the manager does not pass descriptors to a server that outlives the
 * connection.
 *
 * @module
 */

import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { err, ok } from "core/result.ts";
import { byteLength } from "core/text/cut_text.ts";
import { readCount, readFlag, readMode } from "units/manager/units/unit_numbers.ts";
import { textWith, type UnitReader } from "units/manager/units/unit_reader.ts";
import type { Read, Specifiers } from "units/manager/units/words.ts";

/** A socket to listen on. */
export interface SocketSpec {
  readonly kind: "socket";
  readonly path: string;
  readonly mode: number;
  readonly directoryMode: number;
  readonly connectionsMax: number;
  readonly backlog: number;
}

/** systemd's default for `SocketMode=`: open to all users. */
const SOCKET_MODE_DEFAULT = 0o666;
const DIRECTORY_MODE_DEFAULT = 0o755;
const BACKLOG_DEFAULT = 511;

/** Reads the `[Socket]` section. */
export function readSocket(reader: UnitReader, specifiers: Specifiers): SocketSpec {
  const section = reader.section("Socket");
  const text = textWith(specifiers);
  const paths = section.each("ListenStream", (value) => {
    const path = text(value);
    return path.ok ? checkSocketPath(path.value) : path;
  });
  if (paths.length !== 1) {
    section.fault("ListenStream", `${paths.length} usable addresses, must be exactly one`);
  }
  if (!section.one("Accept", readFlag, false)) {
    section.fault("Accept", "must be yes: only one server per connection is supported");
  }
  section.one("RemoveOnStop", readFlag, true);
  return {
    kind: "socket",
    path: paths[0] ?? "",
    mode: section.one("SocketMode", readMode, SOCKET_MODE_DEFAULT),
    directoryMode: section.one("DirectoryMode", readMode, DIRECTORY_MODE_DEFAULT),
    connectionsMax: section.one("MaxConnections", readCount, MCP_LIMITS.connectionsMax),
    backlog: section.one("Backlog", readCount, BACKLOG_DEFAULT),
  };
}

function checkSocketPath(path: string): Read<string> {
  if (!path.startsWith("/")) return err("must be the absolute path of a unix socket");
  const bytes = byteLength(path);
  return bytes <= DAEMON_LIMITS.socketPathLengthMax ? ok(path) : err(
    `the path has ${bytes} bytes, must have at most ${DAEMON_LIMITS.socketPathLengthMax}`,
  );
}
