/**
 * The platform's `Retry-After` in every valid form, and in invalid ones.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { retryAfterMs } from "teamchat/reply/retry_after.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const MAX = TEAMCHAT_LIMITS.retryAfterMsMax;
const USUAL = 2_000;

/** The header, and the resulting wait. */
const ROWS: Readonly<Record<string, readonly [string | null, number]>> = {
  "seconds": ["7", 7_000],
  "none at all": ["0", 0],
  "parts of a second": ["1.5", 1_500],
  "blanks around": [" 3 ", 3_000],
  "a date": ["Thu, 01 Jan 2026 00:00:09 GMT", 9_000],
  "a date in the past": ["Thu, 01 Jan 2026 00:00:00 GMT", 0],
  "a date far in the past": ["Mon, 01 Jan 2024 00:00:00 GMT", USUAL],
  "no header": [null, USUAL],
  "an empty header": ["", USUAL],
  "a negative number": ["-5", USUAL],
  "a huge number": ["999999999", MAX],
  "a very long number": ["9".repeat(400), USUAL],
  "a date in a hundred years": ["Fri, 01 Jan 2126 00:00:00 GMT", MAX],
  "words": ["soon", USUAL],
  "infinity": ["Infinity", USUAL],
  "a hexadecimal number": ["0x10", USUAL],
};

for (const [name, [header, wanted]] of Object.entries(ROWS)) {
  Deno.test(`a request is repeated after the time that the platform states: ${name}`, () => {
    assert.equal(retryAfterMs(header, NOW), wanted);
  });
}
