/**
 * Printed hints can be pasted and run in the place where they are printed.
 *
 * @module
 */

import assert from "node:assert/strict";
import { answerHelp } from "cli/help/answer.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { withLocalCommand, withLocalHints } from "core/hints/local_hints.ts";
import { refusal } from "core/errors.ts";
import { runFleetctl } from "tests/support/script.ts";

const ROWS: readonly [hint: string, usual: string, other: string][] = [
  [
    "fleetctl help",
    "./dev run fleetctl help",
    "FLEETCTL_ROOT='/tmp/a b' ./dev run fleetctl help",
  ],
  ["fleetctl up", "./dev up", "./dev up --root '/tmp/a b'"],
  ["fleetctl up --help", "./dev up --help", "./dev up --help"],
  ["fleetctl up --root /tmp/c", "./dev up --root /tmp/c", "./dev up --root /tmp/c"],
  ["fleetctl up --workdir ~", "./dev up --workdir ~", "./dev up --root '/tmp/a b' --workdir ~"],
  ["fleetctld --help", "fleetctld --help", "fleetctld --help"],
  ["df -h /", "df -h /", "df -h /"],
  [
    "head -c 32 /x | fleetctl secret set K --value -",
    "head -c 32 /x | ./dev run fleetctl secret set K --value -",
    "head -c 32 /x | FLEETCTL_ROOT='/tmp/a b' ./dev run fleetctl secret set K --value -",
  ],
  [
    editHint("/tmp/a b/etc/x.yaml"),
    "${EDITOR:-vi} '/tmp/a b/etc/x.yaml' && ./dev run fleetctl apply",
    "${EDITOR:-vi} '/tmp/a b/etc/x.yaml' && FLEETCTL_ROOT='/tmp/a b' ./dev run fleetctl apply",
  ],
  [
    editHint("/x", "fleetctl up"),
    "${EDITOR:-vi} /x && ./dev up",
    "${EDITOR:-vi} /x && ./dev up --root '/tmp/a b'",
  ],
];

for (const [hint, usual, other] of ROWS) {
  Deno.test(`withLocalHints() maps "${hint}" for a tree`, () => {
    const reason = refusal("x", "y", { hints: [hint] });
    const hints = (env: Record<string, string>) => withLocalHints(reason, env).hints;
    const env = { FLEETCTL_FROM_TREE: "/src" };
    assert.deepEqual(hints({ ...env, FLEETCTL_ROOT: "/src/.fleetctl" }), [usual]);
    assert.deepEqual(hints(env), [usual]);
    assert.deepEqual(hints({ ...env, FLEETCTL_ROOT: "/tmp/a b" }), [other]);
    assert.deepEqual(hints({ FLEETCTL_ROOT: "/tmp/a b" }), [hint]);
  });
}

const LINES: readonly [line: string, want: string][] = [
  ["fleetctl apply", "./dev run fleetctl apply"],
  ["  fleetctl agents restart ada", "  ./dev run fleetctl agents restart ada"],
  ["live after: fleetctl agents restart ada", "live after: ./dev run fleetctl agents restart ada"],
  ["fleetctl 0.1.0 on atlas, root /r", "fleetctl 0.1.0 on atlas, root /r"],
  ["what fleetctl does: nothing", "what fleetctl does: nothing"],
  ["see: fleetctl-login --help", "see: fleetctl-login --help"],
];
Deno.test("withLocalCommand() changes only the command of a line", () => {
  for (const [line, want] of LINES) {
    assert.equal(withLocalCommand(line, { FLEETCTL_FROM_TREE: "/src" }), want);
    assert.equal(withLocalCommand(line, {}), line);
  }
});

Deno.test("runCli() prints hints for the tree, and leaves JSON unchanged", async () => {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  const env = { FLEETCTL_FROM_TREE: "/src" };
  try {
    const output = await runFleetctl(["nosuch"], { root, env });
    assert.match(output.stderr, /^hint: FLEETCTL_ROOT=\S+ \.\/dev run fleetctl help$/m);
    const json = await runFleetctl(["nosuch", "--json"], { root, env });
    assert.match(json.stdout, /"hints":\["fleetctl help"\]/);
    const status = await runFleetctl(["status"], { root, env });
    assert.match(status.stdout, /^ {4}FLEETCTL_ROOT=\S+ \.\/dev run fleetctl apply$/m);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("answerHelp() prints hints for the tree", () => {
  const { stderr } = answerHelp(["nosuch", "--help"], "1", { FLEETCTL_FROM_TREE: "/src" });
  assert.match(stderr, /^hint: \.\/dev run fleetctl help$/m);
});
