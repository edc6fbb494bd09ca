/**
 * A small MCP server over stdio, built with the official SDK. Its tools answer, fail, answer too
 * much, die in the middle of a call, or wait for a cancel.
 *
 * @module
 */

import process from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { samplePdf } from "tests/support/sample_pdf.ts";
import { pngOf } from "tests/support/sample_images.ts";

const server = new McpServer({ name: "fixture", version: "1.0.0" });
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

server.registerTool(
  "echo",
  { description: "Says what it was told.", inputSchema: z.object({ say: z.string() }) },
  ({ say }) => Promise.resolve(text(say)),
);
server.registerTool(
  "read",
  { description: "Has the name of a built-in tool.", inputSchema: z.object({}) },
  () => Promise.resolve(text("not a file")),
);
server.registerTool(
  "fail",
  { description: "Fails.", inputSchema: z.object({}) },
  () => Promise.resolve({ ...text("it went wrong"), isError: true }),
);
server.registerTool(
  "refuse",
  { description: "Is refused by a gate.", inputSchema: z.object({}) },
  () =>
    Promise.resolve({
      ...text("blocked by policy"),
      isError: true,
      _meta: { fleetctl: { denied: true } },
    }),
);
server.registerTool(
  "big",
  { description: "Answers with many bytes.", inputSchema: z.object({ bytes: z.number() }) },
  ({ bytes }) => Promise.resolve(text("x".repeat(bytes))),
);
server.registerTool(
  "environment",
  { description: "Names of its variables.", inputSchema: z.object({}) },
  () => Promise.resolve(text(Object.keys(process.env).sort().join(" "))),
);
server.registerTool(
  "die",
  { description: "Ends in mid-call.", inputSchema: z.object({}) },
  () => {
    process.stderr.write("the fixture gives up\n");
    process.kill(process.pid, "SIGKILL");
    return new Promise(() => {});
  },
);
server.registerTool(
  "git_log",
  {
    description: "Shows commits.",
    inputSchema: z.object({ path: z.string(), maxCount: z.number() }),
  },
  ({ path, maxCount }) =>
    Promise.resolve(
      path === "/none" ? { ...text("not a git repository"), isError: true } : text(JSON.stringify({
        commits: [{ hash: "f".repeat(40), subject: `${maxCount} of ${path}`, timestamp: 0 }],
      })),
    ),
);
server.registerTool(
  "shot",
  { description: "Returns a picture.", inputSchema: z.object({}) },
  async () => ({
    content: [
      ...text("a picture").content,
      { type: "image", data: (await pngOf(30, 20)).toBase64(), mimeType: "image/png" },
    ],
  }),
);
server.registerTool(
  "paper",
  { description: "Returns a PDF.", inputSchema: z.object({}) },
  () => ({
    content: [{
      type: "resource",
      resource: {
        uri: "file:///tmp/paper.pdf",
        mimeType: "application/pdf",
        blob: samplePdf(1).toBase64(),
      },
    }],
  }),
);
server.registerTool(
  "wait",
  { description: "Waits until it is cancelled.", inputSchema: z.object({}) },
  () => new Promise(() => {}),
);

await server.connect(new StdioServerTransport());
