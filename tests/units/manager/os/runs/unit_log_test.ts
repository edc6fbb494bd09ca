/**
 * Journals: bounded on disk, private, and complete when shown.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openUnitLog, UNIT_LOG_LIMITS } from "units/manager/os/runs/unit_log.ts";

const IGNORE = () => {};

Deno.test("openUnitLog() rotates at its limit and shows lines across the rotation", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/a.log`;
  const log = openUnitLog(path, IGNORE);
  const line = "x".repeat(1000);
  const count = Math.ceil(UNIT_LOG_LIMITS.fileBytesMax / 1000) * 3;
  for (let index = 0; index < count; index++) log.append([`${index} ${line}`]);
  const size = async (name: string) => (await Deno.stat(name)).size;
  assert(await size(path) <= UNIT_LOG_LIMITS.fileBytesMax);
  assert(await size(`${path}.1`) <= UNIT_LOG_LIMITS.fileBytesMax);
  assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
  const shown = log.tail(300).map((text) => Number(text.split(" ")[0]));
  assert.deepEqual(shown, Array.from({ length: 300 }, (_, index) => count - 300 + index));
  assert.equal(log.tail(3).length, 3);
  assert.deepEqual(log.tail(0), []);
  log.close();
  const again = openUnitLog(path, IGNORE);
  assert.equal(again.tail(1)[0], `${count - 1} ${line}`);
  again.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("openUnitLog() keeps lines in memory when a write fails, and reports it once", () => {
  const faults: unknown[] = [];
  const log = openUnitLog("/dev/full", (thrown) => faults.push(thrown));
  for (let index = 0; index < 500; index++) log.append([`line ${index}`]);
  assert.equal(faults.length, 1);
  assert.deepEqual(log.tail(2), ["line 498", "line 499"]);
  assert.equal(log.tail(1000).length, UNIT_LOG_LIMITS.memoryLinesMax);
  log.close();
});

Deno.test("openUnitLog() never writes through a link", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/target`, "");
  await Deno.symlink("target", `${folder}/a.log`);
  const faults: unknown[] = [];
  const log = openUnitLog(`${folder}/a.log`, (thrown) => faults.push(thrown));
  log.append(["text"]);
  assert.equal(faults.length, 1);
  assert.equal(await Deno.readTextFile(`${folder}/target`), "");
  log.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("tail() removes what would control a terminal", async () => {
  const folder = await Deno.makeTempDir();
  const log = openUnitLog(`${folder}/a.log`, IGNORE);
  log.append(["\x1b[31mred\x1b[0m \x1b]0;title\x07tab\there \x07\x9b"]);
  assert.deepEqual(log.tail(1), ["red tab\there "]);
  log.close();
  await Deno.remove(folder, { recursive: true });
});
