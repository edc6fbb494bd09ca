/**
 * The gate file: a rendered file parses back, and anything unknown in a file blocks every call.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readCatalog } from "core/catalog/catalog.ts";
import { pathsUnder } from "core/paths.ts";
import { gateOf, parseGate } from "core/risk/rules.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { createGateReader } from "core/risk/gate_file.ts";
import { renderGate } from "units/render/mcp/gate.ts";
import { FileFault } from "core/ports/files.ts";

const GOOD = { mcp: "git", version: "1.0.0", rules: { git_clean: "block", git_push: "ask" } };

Deno.test("parseGate() reads what the renderer writes, for every shipped entry", async () => {
  const paths = pathsUnder("/");
  const catalog = await readCatalog({ files: memoryFiles() }, paths);
  assert.ok(catalog.ok && catalog.value.entries.size >= 6);
  for (const manifest of catalog.value.entries.values()) {
    const file = renderGate(manifest, paths);
    assert.equal(file.path, paths.gate(manifest.name));
    const parsed = parseGate(file.content, manifest.name);
    assert.ok(parsed.ok, JSON.stringify(parsed));
    assert.deepEqual([...parsed.value.rules].sort(), [...gateOf(manifest).rules].sort());
    assert.deepEqual([...parsed.value.reads], [...manifest.readOnly].sort());
    assert.equal(parsed.value.idleStopSeconds, manifest.limits.idleStopSeconds);
  }
});

Deno.test("parseGate() refuses unknown keys and values", () => {
  assert.ok(parseGate(JSON.stringify(GOOD), "git").ok);
  for (
    const [name, text] of [
      ["empty", ""],
      ["half", '{"mcp":"git","ru'],
      ["null", "null"],
      ["list", "[]"],
      ["another MCP", JSON.stringify({ ...GOOD, mcp: "notes" })],
      ["no rules", JSON.stringify({ mcp: "git", version: "1" })],
      ["rules as a list", JSON.stringify({ ...GOOD, rules: ["git_clean"] })],
      ["an unknown word", JSON.stringify({ ...GOOD, rules: { git_clean: "Block" } })],
      ["no version", JSON.stringify({ mcp: "git", rules: {} })],
      ["an unknown key", JSON.stringify({ ...GOOD, allow: ["git_clean"] })],
      ["reads that are not list", JSON.stringify({ ...GOOD, reads: { git_log: true } })],
      ["reads that are not names", JSON.stringify({ ...GOOD, reads: [["git_log"]] })],
      ["accepted without a hash", JSON.stringify({ ...GOOD, accepted: { git_log: 1 } })],
      ["accepted as a list", JSON.stringify({ ...GOOD, accepted: ["git_log"] })],
      ["held tools that no rule blocks", JSON.stringify({ ...GOOD, held: ["git_log"] })],
      ["a bad idle stop", JSON.stringify({ ...GOOD, idle_stop_seconds: -1 })],
      ["too large", JSON.stringify({ ...GOOD, version: "x".repeat(600_000) })],
    ] as const
  ) {
    const parsed = parseGate(text, "git");
    assert.ok(!parsed.ok && parsed.error.code === "gate-invalid", name);
  }
});

Deno.test("GateReader.current() follows the file and refuses while it is unreadable", async () => {
  const path = "/etc/fleetctl/gate/git.json";
  let now = 0;
  const files = memoryFiles({}, { now: () => ++now });
  await files.ensureDir("/etc/fleetctl/gate");
  const reader = createGateReader(files, path, "git");
  const missing = await reader.current();
  assert.ok(!missing.ok && missing.error.code === "gate-unreadable");
  await files.write(path, JSON.stringify(GOOD));
  const read = await reader.current();
  assert.ok(read.ok && read.value.rules.get("git_push") === "ask");
  await files.write(path, JSON.stringify({ ...GOOD, rules: { git_push: "block" } }));
  const again = await reader.current();
  assert.ok(again.ok && again.value.rules.get("git_push") === "block");
  await files.write(path, "{");
  const corrupt = await reader.current();
  assert.ok(!corrupt.ok && corrupt.error.code === "gate-invalid");
  await files.remove(path);
  assert.equal((await reader.current()).ok, false);
});

Deno.test("GateReader.current() refuses when the file may not be read", async () => {
  const fault = () => Promise.reject(new FileFault("EACCES", "/x", "denied"));
  const reader = createGateReader({ stat: fault, readText: fault }, "/x", "git");
  const read = await reader.current();
  assert.ok(!read.ok && /cannot be read \(EACCES\)/.test(read.error.message));
});

Deno.test("createGateReader() with a clock reads a change within 20 ms", async () => {
  const files = memoryFiles({ "/gate.json": JSON.stringify(GOOD) });
  let now = 0;
  const reader = createGateReader(files, "/gate.json", "git", { monotonic: () => now });
  assert.ok((await reader.current()).ok);
  const blocked = { ...GOOD, rules: { git_log: "block", git_clean: "block" } };
  await files.write("/gate.json", JSON.stringify(blocked), { mode: 0o644 });
  now = 20;
  const changed = await reader.current();
  assert.ok(changed.ok && changed.value.rules.get("git_log") === "block");
  await files.remove("/gate.json");
  now = 40;
  assert.ok(!(await reader.current()).ok);
  assert.ok(!(await reader.current()).ok, "at the same moment");
});
