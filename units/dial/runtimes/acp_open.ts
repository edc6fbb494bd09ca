/**
 * The start of an ACP conversation: greeting, resume or a new session, the MCPs that it is given
 * and the mode that it is put into. Runs no turns.
 *
 * @module
 */

import {
  type ClientConnection,
  type InitializeResponse,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
} from "@agentclientprotocol/sdk";
import { errorText } from "core/errors.ts";
import {
  type DriverPorts,
  rememberedSession,
  rememberSession,
  type RuntimeLaunch,
} from "units/dial/runtimes/launch.ts";
import type { McpEntry } from "core/runtimes/mcp_entries.ts";

/** What a conversation is opened with. */
export interface Opening {
  readonly connection: ClientConnection;
  readonly launch: RuntimeLaunch;
  readonly ports: Pick<DriverPorts, "files" | "log">;
  readonly sessionFile: string;
  /** MCPs that the program gets with its session. */
  readonly entries: readonly McpEntry[];
}

/** Greets the program, resumes its conversation or begins one; returns the session's id. */
export async function openConversation(opening: Opening): Promise<string> {
  const { connection, launch, ports, sessionFile } = opening;
  const peer = await connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "fleetctl", version: "0.1.0" },
    clientCapabilities: {},
  });
  if (peer.protocolVersion !== PROTOCOL_VERSION) {
    throw new Error(
      `it speaks ACP version ${peer.protocolVersion}, must speak version ${PROTOCOL_VERSION}`,
    );
  }
  const mcpServers = serversFor(peer, opening);
  const stored = await rememberedSession(ports.files, sessionFile, launch.runtime);
  if (stored !== undefined && await resumeConversation(opening, { peer, stored, mcpServers })) {
    await enterMode(opening, stored);
    return stored;
  }
  const { sessionId } = await connection.agent.request(methods.agent.session.new, {
    cwd: launch.cwd,
    mcpServers,
  });
  await enterMode(opening, sessionId);
  await rememberSession(ports.files, sessionFile, { runtime: launch.runtime, sessionId });
  return sessionId;
}

async function resumeConversation(
  { connection, launch, ports }: Opening,
  { peer, stored, mcpServers }: {
    readonly peer: InitializeResponse;
    readonly stored: string;
    readonly mcpServers: McpServer[];
  },
): Promise<boolean> {
  const capabilities = peer.agentCapabilities;
  const params = { sessionId: stored, cwd: launch.cwd, mcpServers };
  try {
    if (capabilities?.sessionCapabilities?.resume) {
      await connection.agent.request(methods.agent.session.resume, params);
      return true;
    }
    if (capabilities?.loadSession === true) {
      // The replay that comes with it is dropped: no turn is running, and the log has it already.
      await connection.agent.request(methods.agent.session.load, params);
      return true;
    }
    return false;
  } catch (error) {
    if (connection.signal.aborted) throw error;
    ports.log.warning("conversation lost", {
      runtime: launch.runtime,
      session: stored,
      reason: errorText(error),
    });
    return false;
  }
}

/** A program that does not take the mode is not used: in another one it might not ask. */
async function enterMode({ connection, launch }: Opening, sessionId: string): Promise<void> {
  const modeId = launch.sessionMode;
  if (modeId === undefined) return;
  try {
    await connection.agent.request(methods.agent.session.setMode, { sessionId, modeId });
  } catch (error) {
    throw new Error(`it does not take the mode ${JSON.stringify(modeId)}: ${errorText(error)}`);
  }
}

function serversFor(peer: InitializeResponse, { entries, launch, ports }: Opening): McpServer[] {
  const takesHttp = peer.agentCapabilities?.mcpCapabilities?.http === true;
  return entries.flatMap((entry): McpServer[] => {
    if (entry.kind === "stdio") {
      const { name, command, args, env } = entry;
      return [{ name, command, args: [...args], env: pairs(env) }];
    }
    if (!takesHttp) {
      ports.log.warning("MCP left out", {
        runtime: launch.runtime,
        mcp: entry.name,
        reason: "the program takes no MCP by URL",
      });
      return [];
    }
    const { name, url, headers } = entry;
    return [{ type: "http", name, url, headers: pairs(headers) }];
  });
}

function pairs(record: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(record).map(([name, value]) => ({ name, value }));
}
