/**
 * The text of an npm package that is an MCP server over stdio. It lists the given tools, and runs
 * given code at its start and at each call. It speaks revision 2025-11-25.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { FakePackage } from "tests/fakes/npm_registry.ts";

/** One version of a server. */
export interface ServerPackage {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly Readonly<Record<string, unknown>>[];
  /** Statements that run at the start; they may `await import` modules of `node:`. */
  readonly atStart?: string;
  /** Statements that run at a call. `name` and `args` are in scope; the answer is in `text`. */
  readonly atCall?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly more?: Readonly<Record<string, string>>;
}

/** Returns a tool that accepts one text. */
export function tool(
  name: string,
  description: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    name,
    description,
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    ...more,
  };
}

/** Makes the package. */
export function serverPackage(of: ServerPackage): FakePackage {
  return {
    name: of.name,
    version: of.version,
    description: "A server for tests",
    bin: { server: "./main.mjs" },
    ...defined({ dependencies: of.dependencies }),
    files: { "main.mjs": program(of), ...of.more },
  };
}

function program({ name, version, tools, atStart = "", atCall = "" }: ServerPackage): string {
  return `import { createInterface } from "node:readline";
const tools = ${JSON.stringify(tools)};
${atStart}
const send = (message) =>
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const say = (id, result) => send({ id, result });
const fail = (id, code, message) => send({ id, error: { code, message } });
const call = async (name, args) => {
  let text = "done";
${atCall}
  return text;
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    say(id, {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: ${JSON.stringify(name)}, version: ${JSON.stringify(version)} },
    });
  } else if (method === "tools/list") say(id, { tools });
  else if (method === "tools/call") {
    try {
      const text = await call(params.name, params.arguments ?? {});
      say(id, { content: [{ type: "text", text }] });
    } catch (thrown) {
      const text = String(thrown.message ?? thrown);
      say(id, { isError: true, content: [{ type: "text", text }] });
    }
  } else if (id !== undefined) fail(id, -32601, "Method not found");
}
`;
}
