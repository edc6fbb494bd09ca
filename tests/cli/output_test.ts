/**
 * Text of reports, refusals and progress, for terminals and for pipes.
 *
 * @module
 */

import assert from "node:assert/strict";
import { exitCode, refusalJson, refusalLines, refusalOfFault } from "cli/exit.ts";
import { type Block, printBlocks } from "cli/output.ts";
import { createProgress } from "cli/progress.ts";
import { refusal } from "core/errors.ts";
import { FileFault } from "core/ports/files.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import { NO_TERMINAL } from "core/verbs/daemon_frames.ts";

const TABLE: Block = {
  kind: "table",
  title: "Agents",
  columns: ["name", "summary"],
  rows: [["ada", "a long sentence about an agent"], ["bea", { text: "short", tone: "good" }]],
  empty: "none",
};

Deno.test("printBlocks() cuts nothing and colours nothing in a pipe", () => {
  assert.equal(
    printBlocks([TABLE], NO_TERMINAL),
    "Agents\nNAME  SUMMARY\nada   a long sentence about an agent\nbea   short\n",
  );
});

Deno.test("printBlocks() fits the width of a terminal", () => {
  const text = printBlocks([TABLE], { columns: 24, color: false, live: false });
  assert.ok(text.split("\n").every((line) => line.length <= 24), text);
  assert.match(text, /…/);
});

Deno.test("printBlocks() uses colours only where they are allowed", () => {
  const text = printBlocks([TABLE], { columns: 80, color: true, live: true });
  assert.ok(text.includes("\x1b[32mshort\x1b[0m"));
});

Deno.test("printBlocks() lets no text control the terminal", () => {
  const text = printBlocks([{ kind: "lines", lines: ["a\x1b[2Jb\u009bc\rd"] }], NO_TERMINAL);
  assert.equal(text, "a?[2Jb?c?d\n");
});

Deno.test("printBlocks() states that a table is empty, and prints nothing without blocks", () => {
  assert.equal(printBlocks([{ ...TABLE, rows: [] }], NO_TERMINAL), "Agents\nnone\n");
  assert.equal(printBlocks([], NO_TERMINAL), "");
});

const DENIED = refusal("x", "Cannot do it", {
  kind: "denied",
  details: ["a"],
  hints: ["fleetctl y"],
});

Deno.test("refusalLines() prints the sentence, details and hints", () => {
  assert.deepEqual(refusalLines(DENIED), ["fleetctl: Cannot do it", "  a", "hint: fleetctl y"]);
  assert.equal(refusalLines(DENIED, "warning")[0], "warning: Cannot do it");
});

Deno.test("refusalJson() is one error object", () => {
  assert.deepEqual(refusalJson(DENIED), {
    error: { code: "x", message: "Cannot do it", details: ["a"], hints: ["fleetctl y"] },
  });
});

for (
  const [kind, want] of [["refused", 1], ["usage", 2], ["settings", 2], ["denied", 4]] as const
) {
  Deno.test(`exitCode() is ${want} for ${kind}`, () => {
    assert.equal(exitCode(refusal("x", "X", { kind })), want);
  });
}

const FAULTS: readonly [thrown: unknown, code: string, says: RegExp][] = [
  [
    new FileFault("ENOSPC", "/a/b", "full"),
    "disk-full",
    /"\/a\/b" cannot be written, the disk is full/,
  ],
  [new FileFault("EACCES", "/a/b", "no"), "file-not-permitted", /not accessible to this user/],
  [new FileFault("EROFS", "/a/b", "no"), "file-read-only", /read-only file system/],
  [new FileFault("EIO", "/a/b", "broken"), "file-fault", /broken/],
  [
    new ServiceFault("x.service", "it failed", ["l1"]),
    "service-failed",
    /unit "x.service": it failed/,
  ],
  [new TypeError("oops"), "internal-error", /oops/],
  ["text", "internal-error", /text/],
];

for (const [thrown, code, says] of FAULTS) {
  Deno.test(`refusalOfFault() answers ${code}`, () => {
    const got = refusalOfFault(thrown, "run it");
    assert.equal(got.code, code);
    assert.match(got.message, /^Cannot run it/);
    assert.match(got.message, says);
  });
}

const STEP = { text: "vendor git", state: "done", index: 0, total: 2 } as const;

Deno.test("createProgress() writes one line for each finished step off a terminal", () => {
  let text = "";
  const progress = createProgress((part) => text += part, NO_TERMINAL, "usual");
  progress.step({ ...STEP, state: "begin" });
  progress.step(STEP);
  progress.step({ ...STEP, state: "failed", index: 1 });
  progress.clear();
  assert.equal(text, "[1/2] vendor git\n[2/2] failed vendor git\n");
});

Deno.test("createProgress() redraws one line on a terminal and removes it", () => {
  let text = "";
  const terminal = { columns: 30, color: true, live: true };
  const progress = createProgress((part) => text += part, terminal, "usual");
  progress.step({ ...STEP, text: "x".repeat(100) });
  progress.clear();
  assert.ok(text.startsWith("\r\x1b[K["));
  assert.ok(text.endsWith("\r\x1b[K"));
  assert.ok(!text.includes("\n"));
  assert.ok(text.length < 45);
});

Deno.test("createProgress() reports each step as it begins, and failed steps", () => {
  let text = "";
  const progress = createProgress((part) => text += part, NO_TERMINAL, "begins");
  progress.step({ text: "vendor git", state: "begin", index: 0, total: 2 });
  progress.step({ text: "vendor git", state: "done", index: 0, total: 2 });
  progress.step({ text: "start a\u001b[2J.service", state: "begin", index: 1, total: 2 });
  progress.step({ text: "start a.service", state: "failed", index: 1, total: 2 });
  progress.clear();
  assert.match(
    text,
    /^\[1\/2\] vendor git\n\[2\/2\] start a.*\n\[2\/2\] failed start a\.service\n$/,
  );
  assert.ok(!text.includes("\u001b"));
});

Deno.test("createProgress() prints nothing in quiet mode", () => {
  let text = "";
  const progress = createProgress((part) => text += part, NO_TERMINAL, "quiet");
  progress.step(STEP);
  progress.clear();
  assert.equal(text, "");
});
