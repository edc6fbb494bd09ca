/**
 * The phrases that the demo model understands, row by row.
 *
 * @module
 */

import assert from "node:assert/strict";
import { answerDemo, type DemoMessage } from "units/agent_loop/demo/phrases.ts";

const PLACE = {
  agent: "ada",
  cwd: "/home/ada",
  home: "/home/ada",
  project: "/srv/project",
  fleetctl: "./dev run fleetctl",
};
const TOOLS = [
  { name: "bash", description: "Runs a command. Bounded." },
  { name: "git_log", description: "View commit history with filters.\nMore." },
];
const COMMIT = JSON.stringify({
  success: true,
  commits: [{
    hash: "0123456789abcdef0123456789abcdef01234567",
    author: "Mia",
    authorEmail: "mia@example.org",
    timestamp: 1767225600,
    subject: "core: add things",
  }],
  totalCount: 1,
});

function ask(text: string, tools = TOOLS) {
  return answerDemo({ messages: [{ role: "user", text }], tools }, PLACE);
}
function afterCall(text: string, result: string) {
  const messages: DemoMessage[] = [
    { role: "user", text: "earlier" },
    { role: "assistant", text: "answer" },
    { role: "user", text },
    { role: "assistant", text: "" },
    { role: "tool", callId: "c1", text: result },
  ];
  return answerDemo({ messages, tools: TOOLS }, PLACE);
}

const LAST_COMMIT_ROWS: readonly (readonly [string, string])[] = [
  ["last commit of /srv/repo", "/srv/repo"],
  ["What is the last commit in /srv/repo?", "/srv/repo"],
  ["show me the LAST COMMIT of '/srv/my repo'", "/srv/my repo"],
  ["last commit of `/srv/repo`.", "/srv/repo"],
  ["last commit of /srv/repo.", "/srv/repo"],
  ["last commit of this project", "/srv/project"],
  ["the last commit of this repository?", "/srv/project"],
  ["last commit", "/srv/project"],
  ["last commit here", "/srv/project"],
  ["last commit of ~/repo", "/home/ada/repo"],
  ["last commit of some/tree", "/home/ada/some/tree"],
  ["last commit of ./repo", "/home/ada/repo"],
  ["last commit of .", "/home/ada"],
];

for (const [text, path] of LAST_COMMIT_ROWS) {
  Deno.test(`answerDemo() looks up ${path} for ${JSON.stringify(text)}`, () => {
    assert.deepEqual(ask(text).call, { tool: "git_log", arguments: { path, maxCount: 1 } });
  });
}

const CALL_ROWS: readonly (readonly [string, unknown, RegExp])[] = [
  ['call bash {"command": "ls"}', { tool: "bash", arguments: { command: "ls" } }, /Calling `bash`/],
  ["Call git_log", { tool: "git_log", arguments: {} }, /Calling `git_log`/],
  ['call bash {\n"command": "ls"\n}', { tool: "bash", arguments: { command: "ls" } }, /Calling/],
  ['call bash {"command"', undefined, /not a JSON object/],
  ["call bash [1]", undefined, /not a JSON object/],
  ["call git {}", undefined, /no tool `git`. Did you mean `git_log`\?/],
  ["call nothing {}", undefined, /no tool `nothing`. I have `bash`, `git_log`/],
];

for (const [text, call, says] of CALL_ROWS) {
  Deno.test(`answerDemo() to ${JSON.stringify(text)}`, () => {
    const answer = ask(text);
    assert.deepEqual(answer.call, call);
    assert.match(answer.text, says);
  });
}

Deno.test("answerDemo() states the commit that the tool returned", () => {
  const { text, call } = afterCall("last commit of /srv/repo", COMMIT);
  assert.equal(call, undefined);
  assert.match(text, /The last commit of \/srv\/repo/);
  assert.match(text, /commit: 0123456789abcdef0123456789abcdef01234567/);
  assert.match(text, /subject: core: add things/);
  assert.match(text, /author: Mia <mia@example.org>/);
  assert.match(text, /date: 2026-01-01T00:00:00Z/);
});

Deno.test("answerDemo() reports when a tool failed, was refused, or found nothing", () => {
  const failed = afterCall("last commit of /x", "[failed] not a git repository").text;
  assert.match(failed, /The git MCP failed:\n\n```\nnot a git repository\n```/);
  assert.match(afterCall("call bash {}", "[denied] blocked").text, /`bash` was refused/);
  assert.match(afterCall("call bash {}", "[stopped] cut").text, /`bash` was stopped/);
  const none = afterCall("last commit of /x", '{"commits": []}').text;
  assert.match(none, /found no commit in \/x/);
});

Deno.test("answerDemo() cannot be broken out of its fence by a result", () => {
  const { text } = afterCall("call bash {}", "```\nI am outside");
  assert.match(text, /````\n```\nI am outside\n````/);
});

Deno.test("answerDemo() lists the tools of the request", () => {
  for (const text of ["what can you do", "What can you do?", "help", "which tools do you have"]) {
    assert.match(
      ask(text).text,
      /demo model[\s\S]*`bash`: Runs a command\n- `git_log`: View/,
      text,
    );
  }
});

Deno.test("answerDemo() answers anything else with what it is and how to connect a model", () => {
  const { text, call } = ask("write me a poem");
  assert.equal(call, undefined);
  assert.match(
    text,
    /demo model[\s\S]*\.\/dev run fleetctl agents model set ada --provider anthropic/,
  );
});

Deno.test("answerDemo() says how to wire the git MCP when it is missing", () => {
  const answer = ask("last commit of /x", [{ name: "bash", description: "" }]);
  assert.equal(answer.call, undefined);
  assert.match(answer.text, /fleetctl mcp add git ada/);
});
