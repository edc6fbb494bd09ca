/**
 * The builtin server `teamchat`: messages to the agent's owner in team chat. It sends them through
 * this agent's own dial unit, which alone has the gateway connection. The tool reports the outcome
 * of the message, so that a model does not assume that a lost message was read. Where the agent has
 * no team-chat gateway, the cockpit shows the message from its event, as for other channels.
 *
 * @module
 */

import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { defined } from "core/defined.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import type { Random } from "core/ports/random.ts";
import { VERSION } from "core/version.ts";
import { checkMessage } from "units/mcp/builtin/channel.ts";
import { askDial, type DialClientPorts } from "units/mcp/builtin/dial_client.ts";
import { textResult } from "units/mcp/builtin/text_result.ts";

const TITLE_LENGTH_MAX = 200;
/** Outcomes after which the owner does not have the message. */
const UNREAD: ReadonlySet<string> = new Set(["throttled", "blocked", "too_large", "failed"]);

/** Creates the server; `socket` is the path of the dial unit's local socket. */
export function createTeamchatServer(
  socket: string,
  ports: DialClientPorts & { readonly random: Pick<Random, "uuid"> },
): McpServer {
  const server = new McpServer({ name: "teamchat", version: VERSION });
  server.registerTool(
    "send_message",
    {
      title: "Send a message by team chat",
      description:
        "Sends a message to your owner's personal team chat, without a request, too. The answer " +
        "states the outcome: delivered, ambiguous (it may have arrived; do not send it again), " +
        "throttled, blocked, too_large, failed, pending (still on its way; you are notified with " +
        "a later turn if it fails), or shown (in the cockpit only). The message may have at " +
        `most ${MESSAGE_LIMITS.textBytesMax} bytes.`,
      inputSchema: z.object({
        text: z.string().describe("The message, Markdown"),
        title: z.string().max(TITLE_LENGTH_MAX).optional().describe("A short heading"),
      }),
      outputSchema: z.object({
        accepted: z.boolean(),
        id: z.string(),
        outcome: z.string(),
        reason: z.string().optional(),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    async (args) => {
      const fault = checkMessage(args);
      if (fault !== undefined) return textResult(`Cannot send the message: ${fault}`, true);
      const id = ports.random.uuid();
      const text = args.title === undefined ? args.text : `**${args.title}**\n\n${args.text}`;
      const answer = await askDial(socket, { type: "owner_message", text, id }, ports);
      if (!answer.ok && answer.error.code !== "teamchat-absent") {
        return textResult(answer.error.message, true);
      }
      const isKnown = answer.ok && answer.value.type === "owner_message_result";
      const { outcome, reason } = isKnown ? answer.value : { outcome: "shown", reason: undefined };
      const isUnread = UNREAD.has(outcome);
      const structuredContent = { accepted: !isUnread, id, outcome, ...defined({ reason }) };
      return { ...textResult(JSON.stringify(structuredContent), isUnread), structuredContent };
    },
  );
  registerSendFile(server, socket, ports);
  return server;
}

/**
 * Registers the tool that offers a file. It accepts one folder, because the dial unit reads no
 * other.
 */
function registerSendFile(
  server: McpServer,
  socket: string,
  ports: DialClientPorts & { readonly random: Pick<Random, "uuid"> },
): void {
  server.registerTool(
    "send_file",
    {
      title: "Offer a file by team chat",
      description:
        // The same text for every agent: a tool's description is compared with the reviewed one.
        "Offers a file to your owner in the personal team chat. Copy the file into " +
        "~/.fleetctl/dial/send/ first and give its name. The owner must approve; you are " +
        "notified with a later turn whether it was accepted. " +
        `At most ${FILE_LIMITS.fileBytesMax / 1024 / 1024} MiB.`,
      inputSchema: z.object({
        name: z.string().describe("Name of the file in that folder"),
        description: z.string().max(1_000).optional().describe("What it is, one sentence"),
      }),
      outputSchema: z.object({
        accepted: z.boolean(),
        id: z.string(),
        outcome: z.string(),
        reason: z.string().optional(),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    async ({ name, description = "" }) => {
      const id = ports.random.uuid();
      const answer = await askDial(socket, { type: "owner_file", name, description, id }, ports);
      if (!answer.ok) return textResult(answer.error.message, true);
      if (answer.value.type !== "owner_message_result") return textResult("No answer", true);
      const { outcome, reason } = answer.value;
      const isUnread = UNREAD.has(outcome);
      const structuredContent = { accepted: !isUnread, id, outcome, ...defined({ reason }) };
      return { ...textResult(JSON.stringify(structuredContent), isUnread), structuredContent };
    },
  );
}
