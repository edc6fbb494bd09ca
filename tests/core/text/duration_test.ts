/**
 * @module
 */

import assert from "node:assert/strict";
import { parseDuration } from "core/text/duration.ts";

Deno.test("parseDuration() reads numbers with units", () => {
  const rows: readonly (readonly [text: string, ms: number])[] = [
    ["30d", 2_592_000_000],
    ["15m", 900_000],
    ["1h30m", 5_400_000],
    ["2w", 1_209_600_000],
    ["90s", 90_000],
    ["500ms", 500],
    ["1m500ms", 60_500],
    ["1.5h", 5_400_000],
    [" 10s ", 10_000],
    ["0", 0],
    ["0s", 0],
  ];
  for (const [text, ms] of rows) assert.deepEqual(parseDuration(text), { ok: true, value: ms });
});

Deno.test("parseDuration() refuses invalid text with duration-invalid", () => {
  const rows = [
    "",
    "30",
    "d",
    "-1h",
    "1h-30m",
    "30m1h",
    "1h1h",
    "1 h",
    "1y",
    "1e3s",
    "٣h",
    "9".repeat(30) + "d",
  ];
  for (const text of rows) {
    const result = parseDuration(text);
    assert.ok(!result.ok, text);
    assert.equal(result.error.code, "duration-invalid");
    assert.equal(result.error.kind, "usage");
  }
});
