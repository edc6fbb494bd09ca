/**
 * The lines that `up` prints.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  managerLine,
  nextSteps,
  partName,
  relaxedLines,
  stepLine,
  workspaceLine,
} from "cli/up/lines.ts";

Deno.test("nextSteps() prints commands that reach this root", () => {
  const steps = (root: string, env: Record<string, string>, project = "/src") =>
    nextSteps({ env, paths: { root } }, project);
  assert.deepEqual(steps("/src/.fleetctl", { FLEETCTL_FROM_TREE: "/src" }), [
    "try, in another terminal:",
    "  ./dev up --turn 'what can you do'",
    "  ./dev up --turn 'last commit of /src'",
    "  ./dev run fleetctl status",
  ]);
  assert.deepEqual(steps("/tmp/a b", { FLEETCTL_FROM_TREE: "/src" }), [
    "try, in another terminal:",
    "  ./dev up --root '/tmp/a b' --turn 'what can you do'",
    "  ./dev up --root '/tmp/a b' --turn 'last commit of /src'",
    "  FLEETCTL_ROOT='/tmp/a b' ./dev run fleetctl status",
  ]);
  assert.deepEqual(steps("/tmp/r", {}, "/home/x").slice(1), [
    "  fleetctl up --root /tmp/r --turn 'what can you do'",
    "  fleetctl up --root /tmp/r --turn 'last commit of /home/x'",
    "  FLEETCTL_ROOT=/tmp/r fleetctl status",
  ]);
});

Deno.test("workspaceLine() states where agents work and what else git can read", () => {
  assert.equal(
    workspaceLine({ workdir: "~/workspace", project: "/src" }),
    "agents work in ~/workspace, and git reads /src (--workdir DIR chooses another folder)",
  );
  assert.equal(workspaceLine({ workdir: "/srv/x", project: "/srv/x" }), "agents work in /srv/x");
});

Deno.test("managerLine() has one line per part and none for a server of a connection", () => {
  const line = (unit: string, kind: "ready" | "failed" | "exited") =>
    managerLine({ unit, kind, reason: "exit-code 1", journal: ["last words"] })?.trim();
  assert.match(line("fleetctl-gateway.service", "ready") ?? "", /^gateway +ready$/);
  assert.match(line("mcp-git-ada.socket", "ready") ?? "", /^mcp-git-ada +listening$/);
  assert.equal(line("mcp-git-ada@4.service", "ready"), undefined);
  assert.equal(line("fleetctl-gateway.service", "exited"), undefined);
  assert.match(
    line("fleetctl-gateway.service", "failed") ?? "",
    /^gateway +failed {2}exit-code 1\n +last words$/,
  );
});

Deno.test("stepLine() omits steps that took no time", () => {
  const step = { kind: "vendor", subject: "git", state: "done", index: 1, total: 1 } as const;
  assert.equal(stepLine(step, 20), undefined);
  assert.match(stepLine(step, 1500) ?? "", /git +installed {2}1\.5 s/);
  assert.match(stepLine({ ...step, state: "failed" }, 0) ?? "", /git +not installed/);
});

Deno.test("relaxedLines() names some keys and counts the rest", () => {
  assert.deepEqual(relaxedLines([]), []);
  const keys = Array.from({ length: 10 }, (_, n) => `Key${n}`);
  assert.match(relaxedLines(keys)[0] ?? "", /Key0, .*Key7 and 2 more/);
  assert.match(relaxedLines(keys)[1] ?? "", /runs as you: .* read and change .* keys of this root/);
});

Deno.test("partName() is the role's name for people", () => {
  assert.equal(partName("fleetctl-dial-ada.service"), "dial-ada");
  assert.equal(partName("mcp-git-ada.socket"), "mcp-git-ada");
});
