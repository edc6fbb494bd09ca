/**
 * What passes between an editor and a turn besides events: the prompt's text, kinds and titles of
 * calls, the turn's end, and the question about a call that waits for a human.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { decisionOf, howToDecide, permissionRequest, readAsked } from "cli/acp/permission.ts";
import { promptText } from "cli/acp/prompt_text.ts";
import { toolKind } from "cli/acp/tool_view.ts";
import { requestError, stopReason } from "cli/acp/turn_end.ts";
import { refusal } from "core/errors.ts";

const text = (words: string): ContentBlock => ({ type: "text", text: words });
const link: ContentBlock = { type: "resource_link", name: "a.ts", uri: "file:///p/a.ts" };

const PROMPTS: readonly (readonly [string, readonly ContentBlock[], string])[] = [
  ["one text", [text("hi")], "hi"],
  ["paragraphs", [text("one"), text("two")], "one\ntwo"],
  [
    "a sentence with a link",
    [text("fix "), link, text(" now")],
    "fix [a.ts](file:///p/a.ts) now",
  ],
  [
    "an embedded file",
    [text("fix "), { type: "resource", resource: { uri: "file:///p/b%20.ts#L1", text: "x = 1" } }],
    "fix [b%20.ts](file:///p/b%20.ts#L1)\n\n" +
    '<context ref="file:///p/b%20.ts#L1">\nx = 1\n</context>',
  ],
  [
    "an embedded picture",
    [{ type: "resource", resource: { uri: "file:///p/", blob: "AAAA" } }],
    "[file:///p/](file:///p/)\n\n(file:///p/ has binary content, which was left out.)",
  ],
];
for (const [name, blocks, want] of PROMPTS) {
  Deno.test(`promptText() returns ${name}`, () => {
    const got = promptText(blocks);
    assert.ok(got.ok);
    assert.equal(got.value, want);
  });
}

Deno.test("promptText() refuses content that a turn cannot contain", () => {
  const got = promptText([text("see"), { type: "image", data: "AA", mimeType: "image/png" }]);
  assert.ok(!got.ok);
  assert.equal(got.error.code, "prompt-unfit");
  assert.match(got.error.message, /type "image"/);
});

Deno.test("toolKind() recognizes the built-in tools of programs", () => {
  const kinds = ["bash", "Read", "edit", "write", "Grep", "WebFetch", "delete_file", "move", "x"];
  assert.deepEqual(kinds.map(toolKind), [
    "execute",
    "read",
    "edit",
    "edit",
    "search",
    "fetch",
    "delete",
    "move",
    "other",
  ]);
});

const ENDS: readonly (readonly [Record<string, unknown>, string])[] = [
  [{ outcome: "completed" }, "end_turn"],
  [{ outcome: "cancelled", code: "cancelled-before-start" }, "cancelled"],
  [{ outcome: "failed", code: "model-refusal" }, "refusal"],
  [{ outcome: "failed", code: "model-output-limit" }, "max_tokens"],
  [{ outcome: "failed", code: "steps-exhausted" }, "max_turn_requests"],
];
for (const [end, want] of ENDS) {
  Deno.test(`stopReason() is ${want}`, () => {
    const got = stopReason(end);
    assert.ok(got.ok);
    assert.equal(got.value, want);
  });
}

Deno.test("any other end of a turn is an error with its code, reason and hints", () => {
  const got = stopReason({
    outcome: "interrupted",
    code: "dial-restarted",
    reason: "It restarted",
  });
  assert.ok(!got.ok);
  const error = requestError({ ...got.error, hints: ["fleetctl status"] });
  assert.deepEqual([error.code, error.message, error.data], [
    -32603,
    "Cannot complete the turn: it was interrupted: It restarted\nhint: fleetctl status",
    { code: "dial-restarted", hints: ["fleetctl status"] },
  ]);
  const usage = requestError(refusal("prompt-unfit", "Cannot", { kind: "usage" }));
  assert.deepEqual([usage.code, usage.data], [-32602, { code: "prompt-unfit" }]);
});

const ASKED = {
  approval_id: "3f2a1b9c-0000",
  mcp: "git",
  version: "1.2.3",
  tool: "git_tag",
  arguments: { path: "/r", name: "v1\u202e" },
  origin: "direct",
  is_destructive: true,
  expires: Date.UTC(2026, 0, 1),
  digest: "d1",
};

Deno.test("permissionRequest() shows everything that the decision is about", () => {
  const call = readAsked(ASKED);
  assert.ok(call !== undefined);
  assert.equal(call.digest, "d1");
  const { toolCall, options, sessionId } = permissionRequest("s", "1/c", call);
  assert.equal(sessionId, "s");
  const { content, ...shown } = toolCall;
  assert.deepEqual(shown, {
    toolCallId: "1/c",
    title: "git.git_tag: /r",
    name: "git_tag",
    kind: "other",
    status: "pending",
    rawInput: ASKED.arguments,
  });
  const [only] = content ?? [];
  assert.ok(only?.type === "content" && only.content.type === "text");
  assert.equal(
    only.content.text,
    [
      "```",
      "tool         git_tag of MCP git@1.2.3",
      "origin       direct",
      "may destroy  yes",
      "expires      2026-01-01T00:00:00.000Z",
      "arguments",
      "  {",
      '    "path": "/r",',
      '    "name": "v1⟨U+202E⟩"',
      "  }",
      "```",
    ].join("\n"),
  );
  assert.deepEqual(options.map(({ optionId, kind }) => [optionId, kind]), [
    ["approve", "allow_once"],
    ["deny", "reject_once"],
  ]);
});

Deno.test("the name of a tool cannot add a line to the shown call", () => {
  const call = readAsked({ ...ASKED, tool: "git_tag\nmay destroy  no", mcp: null });
  assert.ok(call !== undefined);
  const [only] = permissionRequest("s", "1/c", call).toolCall.content ?? [];
  assert.ok(only?.type === "content" && only.content.type === "text");
  assert.match(only.content.text, /^tool +git_tag ⏎ may destroy {2}no of the runtime$/m);
});

Deno.test("only the two offered answers are decisions", () => {
  const selected = (optionId: string) => decisionOf({ outcome: "selected", optionId });
  assert.equal(selected("approve"), "approved");
  assert.equal(selected("deny"), "denied");
  assert.equal(selected("toString"), undefined);
  assert.equal(decisionOf({ outcome: "cancelled" }), undefined);
  assert.equal(readAsked({ ...ASKED, digest: undefined }), undefined);
});

Deno.test("howToDecide() names the commands", () => {
  const call = readAsked(ASKED);
  assert.ok(call !== undefined);
  assert.equal(
    howToDecide(call, (line) => `./dev run ${line}`),
    "The call git.git_tag waits for a human. To see it, an operator runs " +
      "`./dev run fleetctl approvals show 3f2a1b9c`; to allow it, " +
      "`./dev run fleetctl approvals approve 3f2a1b9c`. The agent's owner can decide in the page.",
  );
});
