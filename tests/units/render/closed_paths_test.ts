/**
 * Paths of a home that are hidden from every MCP server.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { manifest } from "tests/units/reconcile/fixture.ts";
import { closedPaths, closedWithin } from "units/render/mcp/closed_paths.ts";

const SITE = {
  paths: pathsUnder("/"),
  agent: "ada" as AgentName,
  runtimes: [...shippedDefinitions().values()],
  providers: ["mail", "files", "mail"],
};
const STATES = [
  "/home/ada/.claude",
  "/home/ada/.claude.json",
  "/home/ada/.codex",
  "/home/ada/.config/opencode",
  "/home/ada/.fleetctl/dial",
  "/home/ada/.fleetctl/mcp.json",
];
const MORE_STATES = [
  "/home/ada/.local/share/opencode",
  "/home/ada/.local/state/opencode",
  "/home/ada/.pi",
  "/home/ada/.runtime-a.json",
  "/home/ada/.runtime-b",
];

Deno.test("closedPaths() closes keys, runtimes and other programs' logins", () => {
  const rows = [
    { more: {}, oauth: ["/home/ada/.fleetctl/oauth"] },
    {
      more: { oauth: { provider: "mail", scopes: [] } },
      oauth: ["/home/ada/.fleetctl/oauth/files"],
    },
  ];
  for (const { more, oauth } of rows) {
    const want = [...STATES, ...oauth, ...MORE_STATES];
    assert.deepEqual(closedPaths(manifest("x", more), SITE), want);
  }
  const builtin = manifest("x", { source: { kind: "builtin", name: "agent-message" } });
  assert.deepEqual(closedPaths(builtin, SITE), []);
});

Deno.test("closedPaths() stays in the home, wherever a host keeps its client configs", () => {
  const [first] = SITE.runtimes;
  assert.ok(first !== undefined);
  const elsewhere = {
    ...first,
    state: [],
    clientConfig: { ...first.clientConfig, path: "/etc/x" },
  };
  assert.deepEqual(closedPaths(manifest("x"), { ...SITE, runtimes: [elsewhere] }), [
    "/home/ada/.fleetctl/dial",
    "/home/ada/.fleetctl/oauth",
  ]);
});

Deno.test("closedWithin() keeps closed what grants would open", () => {
  const closed = ["/home/ada/.a", "/home/ada/.b/c"];
  const rows: readonly (readonly [granted: readonly string[], want: readonly string[]])[] = [
    [[], []],
    [["/home/ada/.ab", "/home/ad"], []],
    [["*"], closed],
    [["/home/ada/"], closed],
    [["/"], closed],
    [["/home/ada/.b"], ["/home/ada/.b/c"]],
    [["/home/ada/.a/deep"], ["/home/ada/.a"]],
  ];
  for (const [granted, want] of rows) assert.deepEqual(closedWithin(closed, granted), want);
});
