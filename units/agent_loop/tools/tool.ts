/**
 * A tool of the agent loop, built in or behind an MCP server. Types, and the checks that all
 * built-in tools share.
 *
 * @module
 */

import type { z } from "zod";
import type { PlanEntry } from "core/limits/plan.ts";
import { err, ok, type Result } from "core/result.ts";
import type { ResultStatus } from "units/agent_loop/conversation/message.ts";
import type { ToolDeclaration } from "units/agent_loop/model/step.ts";

/** The result of a call; `text` is already within its limit. */
export interface ToolOutcome {
  readonly status: ResultStatus;
  readonly text: string;
  /** The todo list that the call has written. */
  readonly plan?: readonly PlanEntry[];
  /** Images of the result in base64, each named in the text. */
  readonly images?: readonly string[];
  /** PDFs of the result, in base64. */
  readonly pdfs?: readonly { readonly name: string; readonly base64: string }[];
}

/** A tool that can be called. */
export interface Tool extends ToolDeclaration {
  /** Catalog name of the server, or undefined for a built-in tool. */
  readonly mcp: string | undefined;
  /** The tool's own name; `name` is made unique for the model. */
  readonly tool: string;
  /** Category, as ACP names it. */
  readonly kind: "read" | "edit" | "execute" | "other";
  /** Whether calls of one answer may run in parallel. */
  readonly isConcurrent: boolean;
  /** Runs the call to its end or until `signal` aborts. Never rejects. */
  run(input: unknown, signal: AbortSignal): Promise<ToolOutcome>;
}

/** Where built-in tools work. */
export interface ToolFolders {
  readonly cwd: string;
  readonly home: string;
}

/** Checks arguments; the fault is a sentence for the model. */
export function checkInput<T>(schema: z.ZodType<T>, input: unknown): Result<T, string> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return ok(parsed.data);
  const faults = parsed.error.issues.map((issue) =>
    `${issue.path.join(".") || "arguments"}: ${issue.message}`
  );
  return err(`The arguments are unusable: ${faults.join("; ")}`);
}

/** The result of a call that failed. */
export function failed(text: string): ToolOutcome {
  return { status: "failed", text };
}

/** Makes a path absolute: `~` is the home, anything else is relative to the working folder. */
export function resolvePath(path: string, folders: ToolFolders): string {
  const absolute = path === "~" || path.startsWith("~/")
    ? folders.home + path.slice(1)
    : path.startsWith("/")
    ? path
    : `${folders.cwd}/${path}`;
  const parts: string[] = [];
  for (const part of absolute.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}
