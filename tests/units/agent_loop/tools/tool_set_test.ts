/**
 * Tool names that every provider accepts.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { cleanName, nameTools } from "units/agent_loop/tools/tool_set.ts";

function tool(mcp: string | undefined, name: string): Tool {
  return {
    name,
    tool: name,
    mcp,
    kind: "other",
    isConcurrent: false,
    description: "",
    inputSchema: {},
    run: () => Promise.resolve({ status: "completed", text: "" }),
  };
}

function names(...tools: readonly Tool[]): readonly string[] {
  return nameTools(tools).map((each) => each.name);
}

Deno.test("nameTools() keeps a name that is unique", () => {
  assert.deepEqual(names(tool(undefined, "bash"), tool("git", "git_log")), ["bash", "git_log"]);
});

Deno.test("nameTools() prefixes each of two that share a name, in any order of servers", () => {
  assert.deepEqual(names(tool("a", "search"), tool("b", "search")), ["a_search", "b_search"]);
  assert.deepEqual(names(tool("b", "search"), tool("a", "search")), ["b_search", "a_search"]);
});

Deno.test("nameTools() lets a built-in tool keep its name", () => {
  assert.deepEqual(names(tool(undefined, "read"), tool("fix", "read")), ["read", "fix_read"]);
});

Deno.test("nameTools() gives unique names of at most 64 accepted characters", () => {
  const some = fc.record({
    mcp: fc.constantFrom(undefined, "a", "b", "a_b"),
    name: fc.oneof(
      fc.string({ minLength: 1, maxLength: 90 }),
      fc.constantFrom("x", "b_x", "x".repeat(64), "x".repeat(65), "a.b", "a b", "a_b_x"),
    ),
  });
  fc.assert(fc.property(fc.array(some, { maxLength: 25 }), (list) => {
    const given = names(...list.map(({ mcp, name }) => tool(mcp, name)));
    assert.equal(new Set(given).size, given.length);
    for (const name of given) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  }));
});

Deno.test("nameTools() keeps the server's and the tool's own names for the call", () => {
  const [only] = nameTools([tool("files", "a.b")]);
  assert.equal(only?.tool, "a.b");
  assert.equal(only?.mcp, "files");
  assert.match(only?.name ?? "", /^a_b_[0-9a-f]{8}$/);
});

Deno.test("cleanName() keeps names distinct that differ only in replaced characters", () => {
  assert.notEqual(cleanName("a.b"), cleanName("a b"));
  assert.notEqual(cleanName("a.b"), cleanName("a_b"));
});
