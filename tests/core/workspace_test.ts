/**
 * Workspaces: how a path is written, what it resolves to, and where it may lie on a host.
 *
 * @module
 */

import assert from "node:assert/strict";
import { setupRule, workspaceFolder, workspacePlaceRule, workspaceRule } from "core/workspace.ts";

const HOME = "/home/ada";

Deno.test("a workspace is an absolute path or one below the home", () => {
  for (const text of ["~/workspace", "~/a b/c", "/srv/ada", "/data/teams/x-1", "~/.ada"]) {
    assert.equal(workspaceRule(text), undefined, text);
  }
  const bad = [
    ...["", "~", "~/", "/", "work", "./work", "~bob/work", "../x"].map((
      text,
    ) => [text, /absolute/]),
    ...["/srv//x", "/srv/x/", "/srv/./x", "/srv/../etc", "~/..", "~/a/../b"]
      .map((text) => [text, /must not contain an empty part/]),
    ...["/srv/a,b", "/srv/a:b", "~/{home}", "/srv/a\nb", '/srv/"a"', "/srv/a\\b"]
      .map((text) => [text, /must not contain ,/]),
    [`/srv/${"x".repeat(200)}`, /at most 200/],
  ] as const;
  for (const [text, words] of bad) assert.match(workspaceRule(String(text)) ?? "", words as RegExp);
});

Deno.test("a set-up script is a path inside the repository", () => {
  for (const text of ["setup", "bin/setup", "tools/set up.sh"]) {
    assert.equal(setupRule(text), undefined, text);
  }
  const bad: readonly (readonly [string, RegExp])[] = [
    ["/bin/sh", /relative to the repository/],
    ["~/setup", /relative to the repository/],
    ["-x", /relative to the repository/],
    ["", /empty part/],
    ["bin//setup", /empty part/],
    ["../setup", /empty part/],
    ["a\nb", /must not contain ,/],
    ["x".repeat(201), /at most 200/],
  ];
  for (const [text, words] of bad) assert.match(setupRule(text) ?? "", words, text);
});

Deno.test("~ stands for the home", () => {
  assert.equal(workspaceFolder("~/workspace", HOME), "/home/ada/workspace");
  assert.equal(workspaceFolder("/srv/ada", HOME), "/srv/ada");
});

Deno.test("on a host a workspace is refused where it could do harm", () => {
  for (const text of ["~/workspace", "~/a/b", "/home/ada/work", "/srv/ada", "/data/teams/ada"]) {
    assert.equal(workspacePlaceRule(text, HOME), undefined, text);
  }
  const bad: readonly (readonly [string, RegExp])[] = [
    ["/home/ada", /not the home itself/],
    ["~/.ssh", /hidden folder/],
    ["/home/ada/.fleetctl/dial", /hidden folder/],
    ["/home/bob/work", /another user/],
    ["/home/adam/work", /another user/],
    ["/root/work", /below \/root/],
    ["/etc/fleetctl", /below \/etc/],
    ["/var/lib/fleetctl/repo", /below \/var/],
    ["/usr/lib/fleetctl", /below \/usr/],
    ["/tmp/x", /below \/tmp/],
    ["/run/mcp", /below \/run/],
    ["/srv", /a folder below \/srv/],
  ];
  for (const [text, words] of bad) assert.match(workspacePlaceRule(text, HOME) ?? "", words, text);
});
