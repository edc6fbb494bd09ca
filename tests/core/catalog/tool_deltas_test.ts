/**
 * Arithmetic of an agent's tool deltas: the resolved tools match the requests, in any order of
 * steps.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Catalog } from "core/catalog/catalog.ts";
import { resolveTools, SHIPPED_DEFAULTS, withoutTool, withTool } from "core/catalog/defaults.ts";
import type { ToolDeltas } from "core/ledger/agent.ts";
import type { McpName } from "core/names.ts";

const NAMES = ["browser", "git", "notes", "image", "audio"] as McpName[];
const name = fc.constantFrom(...NAMES);
const names = fc.uniqueArray(name);
const step = fc.record({ verb: fc.constantFrom("add", "remove"), mcp: name });

const CATALOG = { entries: new Map(NAMES.map((each) => [each, {}])) } as unknown as Catalog;
const NO_DELTAS: ToolDeltas = { add: [], remove: [] };

const agentWith = (tools: ToolDeltas) => ({ channel: "webview" as const, tools });

/** Returns the defaults of a host whose channel adds no tools. */
function host(hostTools: readonly McpName[]) {
  return {
    ...SHIPPED_DEFAULTS,
    channels: { ...SHIPPED_DEFAULTS.channels, webview: [] },
    hostTools,
  };
}

function resolve(defaults: readonly McpName[], deltas: ToolDeltas): readonly McpName[] {
  return resolveTools(agentWith(deltas), CATALOG, host(defaults));
}

function apply(deltas: ToolDeltas, defaults: readonly McpName[], verb: string, mcp: McpName) {
  const change = verb === "add" ? withTool : withoutTool;
  return change(agentWith(deltas), mcp, host(defaults));
}

const ROWS: readonly {
  name: string;
  steps: readonly string[];
  want: { add: readonly string[]; remove: readonly string[] };
}[] = [
  { name: "adding a default", steps: ["add browser"], want: { add: [], remove: [] } },
  { name: "adding another", steps: ["add git"], want: { add: ["git"], remove: [] } },
  { name: "adding twice", steps: ["add git", "add git"], want: { add: ["git"], remove: [] } },
  { name: "removing a default", steps: ["remove browser"], want: { add: [], remove: ["browser"] } },
  {
    name: "removing a default and adding it again",
    steps: ["remove browser", "add browser"],
    want: { add: [], remove: [] },
  },
  {
    name: "adding and removing another",
    steps: ["add git", "remove git"],
    want: { add: [], remove: [] },
  },
  { name: "removing an absent MCP", steps: ["remove git"], want: { add: [], remove: [] } },
];

for (const row of ROWS) {
  Deno.test(`withTool() and withoutTool() record only differences when ${row.name}`, () => {
    let deltas = NO_DELTAS;
    for (const each of row.steps) {
      const [verb = "", mcp = ""] = each.split(" ");
      deltas = apply(deltas, ["browser" as McpName], verb, mcp as McpName);
    }
    assert.deepEqual(deltas, row.want);
  });
}

Deno.test("resolveTools() returns the result of the last step on each MCP", () => {
  fc.assert(fc.property(names, fc.array(step, { maxLength: 30 }), (defaults, steps) => {
    let deltas = NO_DELTAS;
    const wanted = new Set(defaults);
    for (const { verb, mcp } of steps) {
      deltas = apply(deltas, defaults, verb, mcp);
      if (verb === "add") wanted.add(mcp);
      else wanted.delete(mcp);
      assert.deepEqual(new Set(resolve(defaults, deltas)), wanted);
      assert(deltas.add.every((each) => !deltas.remove.includes(each)), "in both lists");
      assert(deltas.add.every((each) => !defaults.includes(each)), "a default was added");
    }
  }));
});

Deno.test("withTool() and withoutTool() change one MCP only, for any deltas and defaults", () => {
  const deltas = fc.record({ add: names, remove: names });
  fc.assert(fc.property(deltas, names, step, (given, defaults, { verb, mcp }) => {
    const before = resolve(defaults, given);
    const after = resolve(defaults, apply(given, defaults, verb, mcp));
    assert.equal(after.includes(mcp), verb === "add");
    const others = (all: readonly McpName[]) => all.filter((each) => each !== mcp);
    assert.deepEqual(others(after), others(before), "another MCP changed");
  }));
});

Deno.test("resolveTools() keeps the order of defaults and adds", () => {
  const deltas = { add: ["notes", "git"], remove: ["image"] } as unknown as ToolDeltas;
  const defaults = ["browser", "image"] as McpName[];
  assert.deepEqual(resolve(defaults, deltas), ["browser", "notes", "git"]);
});
