/**
 * Opens an ACP conversation: handshake, resumed or new session, its MCPs and its mode. Runs no
 * turns.
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
import { err, ok, type Result } from "core/result.ts";
import { claudeSettings } from "units/dial/runtimes/claude_settings.ts";
import { type UsageSource, usageSourceOf } from "units/dial/runtimes/acp_usage.ts";
import {
  type DriverPorts,
  rememberedSession,
  rememberSession,
  type RuntimeLaunch,
} from "units/dial/runtimes/launch.ts";
import type { VersionWatch } from "units/dial/runtimes/version_watch.ts";
import { isRecord } from "core/text/json_object.ts";
import type { McpEntry } from "core/runtimes/mcp_entries.ts";

/** Parameters of an opening. */
export interface Opening {
  readonly connection: ClientConnection;
  readonly launch: RuntimeLaunch;
  readonly ports: Pick<DriverPorts, "files" | "log">;
  readonly sessionFile: string;
  /** MCPs that the program receives with its session. */
  readonly entries: readonly McpEntry[];
  readonly versions: Pick<VersionWatch, "report">;
}

/** An open conversation. */
export interface OpenedConversation {
  readonly sessionId: string;
  /** Whether the program offers to resume it. */
  readonly isResumable: boolean;
  readonly usage: UsageSource;
  /** Whether the program offers `session/close`. */
  readonly isClosable: boolean;
  /** Whether the program accepts images in a message. */
  readonly hasVision: boolean;
  /** Whether the program reads PDFs that a message links to. */
  readonly readsPdfs: boolean;
  /** Whether the program continues turns that an earlier process left open. */
  readonly goesOn: boolean;
  /** Whether a running turn accepts messages. */
  readonly canSteer: boolean;
  /** Why the stored conversation was lost; undefined when it continues, or when there was none. */
  readonly lost: string | undefined;
}

/** Performs the handshake, then resumes the conversation or begins one. */
export async function openConversation(opening: Opening): Promise<OpenedConversation> {
  const { connection, launch, ports, sessionFile } = opening;
  const peer = await connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "fleetctl", version: "0.1.0" },
    // No `url`: with it a program could ask for sign-ins during its start, which would delay it.
    clientCapabilities: { elicitation: { form: {} } },
  });
  if (peer.protocolVersion !== PROTOCOL_VERSION) {
    throw new Error(
      `it speaks ACP version ${peer.protocolVersion}, must speak version ${PROTOCOL_VERSION}`,
    );
  }
  opening.versions.report(peer.agentInfo?.version ?? "");
  const mcpServers = serversFor(peer, opening);
  const isClosable = Boolean(peer.agentCapabilities?.sessionCapabilities?.close);
  const hasVision = peer.agentCapabilities?.promptCapabilities?.image === true;
  const goesOn = declares(peer, "continues_turns");
  const canSteer = declares(peer, "steers");
  const readsPdfs = declares(peer, "reads_pdfs");
  const stored = await rememberedSession(ports.files, sessionFile, launch.runtime);
  const resumed = stored === undefined
    ? undefined
    : await resumeConversation(opening, { peer, stored, mcpServers });
  if (stored !== undefined && resumed?.ok === true) {
    await enterMode(opening, stored);
    const usage = usageSourceOf(peer, resumed.value);
    const found = { isClosable, hasVision, readsPdfs, goesOn, canSteer, usage };
    return { sessionId: stored, isResumable: true, ...found, lost: undefined };
  }
  const opened = await connection.agent.request(methods.agent.session.new, {
    cwd: launch.cwd,
    mcpServers,
    ...claudeMeta(launch),
  });
  const { sessionId } = opened;
  await enterMode(opening, sessionId);
  await rememberSession(ports.files, sessionFile, { runtime: launch.runtime, sessionId });
  const { sessionCapabilities, loadSession } = peer.agentCapabilities ?? {};
  const isResumable = Boolean(sessionCapabilities?.resume) || loadSession === true;
  const lost = resumed?.ok === false ? resumed.error : undefined;
  const usage = usageSourceOf(peer, opened);
  const found = { isClosable, hasVision, readsPdfs, goesOn, canSteer, usage };
  return { sessionId, isResumable, ...found, lost };
}

/** Abilities that only the built-in runtime declares. */
type OwnAbility = "continues_turns" | "steers" | "reads_pdfs";

/** Whether the program declares an ability under fleetctl's key. */
function declares(peer: InitializeResponse, ability: OwnAbility): boolean {
  const own = peer.agentCapabilities?._meta?.fleetctl;
  return isRecord(own) && own[ability] === true;
}

/** Settings for an adapter of Claude Code; another program ignores them. */
function claudeMeta({ ask }: RuntimeLaunch): { readonly _meta?: Record<string, unknown> } {
  const settings = claudeSettings(ask);
  return settings === undefined ? {} : { _meta: { claudeCode: { options: { settings } } } };
}

/** Returns the program's answer, or the reason why the conversation is lost. */
async function resumeConversation(
  { connection, launch, ports }: Opening,
  { peer, stored, mcpServers }: {
    readonly peer: InitializeResponse;
    readonly stored: string;
    readonly mcpServers: McpServer[];
  },
): Promise<Result<object, string>> {
  const capabilities = peer.agentCapabilities;
  const params = { sessionId: stored, cwd: launch.cwd, mcpServers, ...claudeMeta(launch) };
  try {
    if (capabilities?.sessionCapabilities?.resume) {
      return ok(await connection.agent.request(methods.agent.session.resume, params) ?? {});
    }
    if (capabilities?.loadSession === true) {
      // The agent replays the conversation here. The updates are dropped: no turn is running, and
      // the log already contains them.
      return ok(await connection.agent.request(methods.agent.session.load, params) ?? {});
    }
    return err("it resumes no conversations");
  } catch (error) {
    if (connection.signal.aborted) throw error;
    const reason = errorText(error);
    ports.log.warning("conversation lost", { runtime: launch.runtime, session: stored, reason });
    return err(reason);
  }
}

/**
 * Sets the mode. A program that refuses it is not used, because in another mode it might act
 * without asking.
 */
async function enterMode({ connection, launch }: Opening, sessionId: string): Promise<void> {
  const modeId = launch.sessionMode;
  if (modeId === undefined) return;
  try {
    await connection.agent.request(methods.agent.session.setMode, { sessionId, modeId });
  } catch (error) {
    throw new Error(`it does not accept the mode ${JSON.stringify(modeId)}: ${errorText(error)}`);
  }
}

function serversFor(peer: InitializeResponse, { entries, launch, ports }: Opening): McpServer[] {
  const supportsHttp = peer.agentCapabilities?.mcpCapabilities?.http === true;
  return entries.flatMap((entry): McpServer[] => {
    if (entry.kind === "stdio") {
      const { name, command, args, env } = entry;
      return [{ name, command, args: [...args], env: pairs(env) }];
    }
    if (!supportsHttp) {
      ports.log.warning("MCP omitted", {
        runtime: launch.runtime,
        mcp: entry.name,
        reason: "the program does not support MCPs by URL",
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
