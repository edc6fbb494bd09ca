/**
 * The builtin server `agent-message`: messages to other agents of the fleet. It sends them through
 * this agent's own dial unit, which alone has the gateway connection. It queues nothing: the dial
 * unit's answer is the tool's answer.
 *
 * @module
 */

import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { parseAgentName } from "core/names.ts";
import type { Random } from "core/ports/random.ts";
import { askDial, type DialClientPorts } from "units/mcp/builtin/dial_client.ts";
import { VERSION } from "core/version.ts";
import { textResult } from "units/mcp/builtin/text_result.ts";
import { checkMessage } from "units/mcp/builtin/channel.ts";

/** Creates the server; `socket` is the path of the dial unit's local socket. */
export function createAgentMessageServer(
  socket: string,
  ports: DialClientPorts & { readonly random: Pick<Random, "uuid"> },
): McpServer {
  const server = new McpServer({ name: "agent-message", version: VERSION });
  server.registerTool(
    "send_message",
    {
      title: "Send a message to another agent",
      description:
        "Sends a message to another agent of the fleet, which gets it as a turn. The answer " +
        "means " +
        "that the message was accepted for delivery, not that it was read. The text may have at " +
        `most ${TURN_LIMITS.toolArgumentsBytesMax} bytes.`,
      inputSchema: z.object({
        to: z.string().describe("Name of the agent, from list_agents"),
        text: z.string().describe("The message"),
      }),
      outputSchema: z.object({ accepted: z.boolean(), id: z.string() }),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    },
    async ({ to, text }) => {
      const name = parseAgentName(to);
      if (!name.ok) return textResult(name.error.message, true);
      const fault = checkMessage({ text });
      if (fault !== undefined) return textResult(`Cannot send the message: ${fault}`, true);
      const id = ports.random.uuid();
      const answer = await askDial(socket, { type: "message", to: name.value, text, id }, ports);
      if (!answer.ok) return textResult(answer.error.message, true);
      const structuredContent = { accepted: true, id };
      return { ...textResult(JSON.stringify(structuredContent), false), structuredContent };
    },
  );
  server.registerTool(
    "list_agents",
    {
      title: "List the agents of the fleet",
      description: "Lists the agents that can be sent a message.",
      inputSchema: z.object({}),
      outputSchema: z.object({ agents: z.array(z.object({ name: z.string() })) }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async () => {
      const answer = await askDial(socket, { type: "agents" }, ports);
      if (!answer.ok) return textResult(answer.error.message, true);
      const names = answer.value.type === "agents_result" ? answer.value.names : [];
      const structuredContent = { agents: names.map((name) => ({ name })) };
      return { ...textResult(JSON.stringify(structuredContent), false), structuredContent };
    },
  );
  return server;
}
