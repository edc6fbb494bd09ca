/**
 * Parsing an argument list into the options of each verb, without running it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseOptions as parseAdd } from "cli/verbs/agents/add.ts";
import { parseOptions as parseAgentsSet } from "cli/verbs/agents/set.ts";
import { parseOptions as parseApply } from "cli/verbs/apply.ts";
import { parseOptions as parseCompletion } from "cli/verbs/completion.ts";
import { parseOptions as parseHelp } from "cli/verbs/help.ts";
import { parseOptions as parseMcpAdd } from "cli/verbs/mcp/add.ts";
import { parseOptions as parseTool } from "cli/mcp/call_tool.ts";
import { parseOptions as parseRemove } from "cli/verbs/mcp/remove.ts";
import { parseOptions as parseGet } from "cli/verbs/secret/get.ts";
import { parseOptions as parseSet } from "cli/verbs/secret/set.ts";
import type { Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { invocationOf } from "tests/core/verbs/callers.ts";

type Parse = (invocation: Invocation) => Result<unknown>;

const APPLY = { isDryRun: false, isNow: false, isWaiting: false };

const GOOD: readonly [argv: readonly string[], parse: Parse, want: unknown][] = [
  [["mcp", "add", "git", "ada"], parseMcpAdd, { mcp: "git", isForced: false, isDryRun: false }],
  [["mcp", "add", "git", "ada", "--force", "--dry-run"], parseMcpAdd, {
    mcp: "git",
    isForced: true,
    isDryRun: true,
  }],
  [["mcp", "remove", "git", "ada"], parseRemove, { mcp: "git", isDryRun: false }],
  [["mcp", "read", "git", "git_log"], parseTool, {
    verb: "mcp read",
    mcp: "git",
    tool: "git_log",
    arguments: {},
    block: undefined,
    timeoutMs: 300_000,
    answers: new Map(),
  }],
  [["mcp", "call", "git", "git_log", "ada", "--args", '{"n": [1]}', "--out", "2"], parseTool, {
    verb: "mcp call",
    mcp: "git",
    tool: "git_log",
    arguments: { n: [1] },
    block: 2,
    timeoutMs: 300_000,
    answers: new Map(),
  }],
  [["secret", "set", "KEY", "--value", "x"], parseSet, { key: "KEY" }],
  [["secret", "get", "KEY"], parseGet, { key: "KEY" }],
  [["apply"], parseApply, APPLY],
  [["apply", "self", "--dry-run"], parseApply, { ...APPLY, isDryRun: true }],
  [["apply", "--now", "--dry-run"], parseApply, { ...APPLY, isDryRun: true, isNow: true }],
  [["apply", "--waiting"], parseApply, { ...APPLY, isWaiting: true }],
  [["completion", "zsh"], parseCompletion, { shell: "zsh" }],
  [["help", "mcp", "add"], parseHelp, { words: ["mcp", "add"], isManPage: false }],
  [["help", "--man"], parseHelp, { words: [], isManPage: true }],
  [["agents", "add", "ada", "--channel", "webview"], parseAdd, {
    name: "ada",
    channel: "webview",
    texts: {},
    hasLogin: false,
    isDryRun: false,
  }],
  [
    [
      "agents",
      "add",
      "bea",
      "--channel",
      "teamchat",
      "--user-email",
      " Bea@Example.org",
      "--owner-aad",
      "8F2C0000-0000-4000-8000-0000000000BE",
      "--owner-email",
      "o@example.org",
      "--runtime",
      "runtime-a",
      "--provider",
      "anthropic",
      "--model",
      "large-2",
      "--dry-run",
    ],
    parseAdd,
    {
      name: "bea",
      channel: "teamchat",
      texts: {
        userEmail: "bea@example.org",
        ownerAad: "8f2c0000-0000-4000-8000-0000000000be",
        ownerEmail: "o@example.org",
        runtime: "runtime-a",
        provider: "anthropic",
        model: "large-2",
      },
      hasLogin: false,
      isDryRun: true,
    },
  ],
];

for (const [argv, parse, want] of GOOD) {
  Deno.test(`parseOptions() reads "${argv.join(" ")}"`, () => {
    assert.deepEqual(parse(invocationOf(...argv)), { ok: true, value: want });
  });
}

const BAD: readonly [argv: readonly string[], parse: Parse, code: string, says: RegExp][] = [
  [["mcp", "add", "Git", "ada"], parseMcpAdd, "name-invalid", /"Git" as an MCP name/],
  [["mcp", "remove", "..", "ada"], parseRemove, "name-invalid", /"\.\."/],
  [["mcp", "read", "git", ""], parseTool, "arguments-invalid", /name of the tool/],
  [["mcp", "read", "git", "t", "--args", "null"], parseTool, "arguments-invalid", /another kind/],
  [["mcp", "read", "git", "t", "--args", "{x"], parseTool, "arguments-invalid", /is no JSON/],
  [["secret", "set", "9KEY", "--value", "x"], parseSet, "name-invalid", /"9KEY" as a key name/],
  [["secret", "get", "key"], parseGet, "name-invalid", /"key" as a key name/],
  [["help", "mcp", "ad"], parseHelp, "verb-unknown", /"mcp ad"/],
  [["help", "browser", "status"], parseHelp, "verb-not-available", /"browser status"/],
  [["agents", "add", "ada"], parseAdd, "options-invalid", /--channel is missing/],
  [
    ["agents", "add", "ada", "--channel", "webview", "--model", "m".repeat(5000)],
    ...[
      parseAdd,
      "options-invalid",
      /--model: .*has 5000 characters, must have at most 4096/,
    ] as const,
  ],
  [
    ["agents", "set", "ada", "--provider", "p".repeat(4097)],
    ...[parseAgentsSet, "options-invalid", /--provider: .*has 4097 characters/] as const,
  ],
  [["agents", "add", "root", "--channel", "webview"], parseAdd, "options-invalid", /reserved/],
  [["apply", "--waiting", "--now"], parseApply, "options-invalid", /combined with --now/],
  [["apply", "--dry-run", "--waiting"], parseApply, "options-invalid", /combined with --dry-run/],
];

for (const [argv, parse, code, says] of BAD) {
  Deno.test(`parseOptions() refuses "${argv.join(" ").slice(0, 80)}" with ${code}`, () => {
    const got = parse(invocationOf(...argv));
    assert.ok(!got.ok);
    assert.equal(got.error.code, code);
    assert.equal(got.error.kind, "usage");
    assert.match(got.error.message, says);
  });
}
