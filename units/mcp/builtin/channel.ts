/**
 * The builtin servers of channels without a connected service: one tool, `send_message`, to the
 * agent's owner.
 *
 * The tool needs no network. The call itself is a durable event of the turn, and the cockpit
 * renders a message bubble from that event by the tool's top-level name. So the answer is "shown",
 * and the arguments must fit completely into the event.
 *
 * @module
 */

import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { TURN_LIMITS } from "core/limits/turn.ts";
import type { Random } from "core/ports/random.ts";
import { VERSION } from "core/version.ts";
import { textResult } from "units/mcp/builtin/text_result.ts";

/** Channels that have a builtin server, with their names in sentences. */
const CHANNEL_TITLES = {
  messenger: "messenger chat",
  workchat: "work chat",
} as const;

/** Name of a channel server. */
export type ChannelServer = keyof typeof CHANNEL_TITLES;

const TITLE_LENGTH_MAX = 200;

/** Creates the server of one channel. */
export function createChannelServer(
  channel: ChannelServer,
  ports: { readonly random: Pick<Random, "uuid"> },
): McpServer {
  const title = CHANNEL_TITLES[channel];
  const server = new McpServer({ name: channel, version: VERSION });
  server.registerTool(
    "send_message",
    {
      title: `Send a message by ${title}`,
      description:
        `Leaves a message for your owner in the cockpit. No ${title} is connected: the answer ` +
        `"shown" means that the cockpit shows the message, not that it was sent or read. ` +
        `Text and title together may have at most ${TURN_LIMITS.toolArgumentsBytesMax} bytes.`,
      inputSchema: z.object({
        text: z.string().describe("The message, Markdown"),
        title: z.string().max(TITLE_LENGTH_MAX).optional().describe("A short heading"),
      }),
      outputSchema: z.object({ outcome: z.literal("shown"), id: z.string() }),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    },
    (args) => {
      const fault = checkMessage(args);
      if (fault !== undefined) return textResult(`Cannot send the message: ${fault}`, true);
      const structuredContent = { outcome: "shown", id: ports.random.uuid() };
      return { ...textResult(JSON.stringify(structuredContent), false), structuredContent };
    },
  );
  return server;
}

/** Returns what is wrong with a message, or undefined. */
export function checkMessage(
  message: { readonly text: string; readonly title?: string | undefined },
): string | undefined {
  if (message.text.trim() === "") return "the text is empty";
  if (message.title !== undefined && /\p{Cc}/u.test(message.title)) {
    return "the title contains control characters, must be one line";
  }
  const size = new TextEncoder().encode(JSON.stringify(message)).length;
  const max = TURN_LIMITS.toolArgumentsBytesMax;
  return size > max
    ? `it has ${size} bytes, must have at most ${max}; send it in parts`
    : undefined;
}
