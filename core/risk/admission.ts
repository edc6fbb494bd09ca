/**
 * Tool admission for `mcp read` and `mcp call`: one gate for both, because neither is read-only.
 * A tool is reachable unless its manifest says `risk: block` (or `ask`, when nobody can approve),
 * minus a short list of argument keys that reach the local disk or override a policy. No I/O.
 * Spec: "Runtime permission gate".
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { McpAnswer, McpClient, McpEndpoint } from "core/mcp_port.ts";
import { err, ok, type Result } from "core/result.ts";
import { checkDecision, decideTool } from "core/risk/decide.ts";
import type { Gate } from "core/risk/rules.ts";

/**
 * Keys that name a file of the host to write or to send away. `path` and `file_path` are not among
 * them: for most servers they are what the tool is about, inside the folders that it may read.
 */
const DISK_KEYS = [
  "filename",
  "local_path",
  "local_file",
  "output_path",
  "output_file",
  "output_dir",
  "save_path",
  "save_to",
  "download_path",
  "upload_path",
] as const;
/** Keys with which a caller would answer the question that only the owner may answer. */
const POLICY_KEYS = [
  "confirm",
  "confirmed",
  "approve",
  "approved",
  "skip_confirmation",
  "bypass_approval",
  "override_policy",
  "allow_unsafe",
  "no_verify",
  "dangerously_skip_permissions",
] as const;

const REFUSED_KEYS: ReadonlySet<string> = new Set(
  [...DISK_KEYS, ...POLICY_KEYS].map(foldKey),
);
/** Nesting of arguments that is looked into; deeper is refused. */
const DEPTH_MAX = 32;

/** One call as it was asked for. */
export interface RequestedCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Checks one call against the rules of its MCP and the list of refused argument keys. */
export function checkAdmission(gate: Gate, call: RequestedCall): Result<void> {
  const decided = checkDecision(decideTool(gate.rules, call.tool), {
    mcp: gate.mcp,
    tool: call.tool,
  });
  if (!decided.ok) return decided;
  const key = refusedKey(call.arguments, 0);
  if (key === undefined) return ok(undefined);
  return err(refusal(
    "argument-refused",
    `Cannot call tool ${JSON.stringify(call.tool)} of MCP "${gate.mcp}": the argument ` +
      `${JSON.stringify(key)} reaches the local disk or overrides a policy`,
    { kind: "denied" },
  ));
}

/** The way of `mcp read` and `mcp call`: admitted first, called then. */
export async function callAdmitted(
  client: McpClient,
  at: McpEndpoint,
  gate: Gate,
  call: RequestedCall & { readonly timeoutMs?: number },
): Promise<Result<McpAnswer>> {
  const admitted = checkAdmission(gate, call);
  return admitted.ok ? await client.callTool(gate.mcp, at, call) : admitted;
}

/** Returns the first refused key, however deep it stands and however it is spelled. */
function refusedKey(value: unknown, depth: number): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > DEPTH_MAX) return "…";
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && REFUSED_KEYS.has(foldKey(key))) return key;
    const found = refusedKey(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `filePath`, `file-path` and `FILE_PATH` are one key to some server or other. */
function foldKey(key: string): string {
  return key.normalize("NFKC").toLowerCase().replace(/[\s_.-]/g, "");
}
