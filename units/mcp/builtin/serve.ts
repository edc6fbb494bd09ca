/**
 * `fleetctl-mcp serve <builtin>`: runs one of fleetctl's builtin servers on stdio, for both
 * revisions of MCP in use.
 *
 * @module
 */

import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { BuiltinServer } from "core/catalog/manifest_source.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { createAgentMessageServer } from "units/mcp/builtin/agent_message.ts";
import { createChannelServer } from "units/mcp/builtin/channel.ts";
import { createTeamchatServer } from "units/mcp/builtin/teamchat.ts";
import type { DialClientPorts } from "units/mcp/builtin/dial_client.ts";

/** Dependencies of the builtin servers. */
export interface ServePorts extends DialClientPorts {
  readonly log: Log;
  readonly random: Pick<Random, "uuid">;
}

/** Serves until the client closes stdin. `dialSocket` is the path of the agent's `local.sock`. */
export function serveBuiltin(
  name: BuiltinServer,
  dialSocket: string,
  ports: ServePorts,
): { close(): Promise<void> } {
  return serveStdio(
    () =>
      name === "agent-message"
        ? createAgentMessageServer(dialSocket, ports)
        : name === "teamchat"
        ? createTeamchatServer(dialSocket, ports)
        : createChannelServer(name, ports),
    {
      onerror: (error) => ports.log.warning("serve_error", { server: name, error: error.message }),
    },
  );
}
