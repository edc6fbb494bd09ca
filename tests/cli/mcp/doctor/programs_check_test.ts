/**
 * Programs that a server needs on its host.
 *
 * @module
 */

import assert from "node:assert/strict";
import { checkPrograms } from "cli/mcp/doctor/programs_check.ts";
import { manifest } from "tests/units/reconcile/fixture.ts";

const BROWSER = { anyOf: ["chromium", "chrome"], install: "apt-get install chromium" };
const PYTHON = { anyOf: ["python3"], install: "apt-get install python3" };

function onHost(...programs: readonly string[]) {
  return {
    which: (...names: readonly string[]) => {
      const found = names.find((name) => programs.includes(name));
      return Promise.resolve(found === undefined ? undefined : `/usr/bin/${found}`);
    },
  };
}

const ROWS = [
  { needs: [], has: [], want: "it needs none" },
  { needs: [BROWSER], has: ["chrome"], want: "/usr/bin/chrome" },
  {
    needs: [BROWSER, PYTHON],
    has: ["chromium", "python3"],
    want: "/usr/bin/chromium, /usr/bin/python3",
  },
  {
    needs: [BROWSER, PYTHON],
    has: ["chromium"],
    want: 'Cannot use MCP "wiki": python3 is not on this host, it must be',
  },
  {
    needs: [BROWSER],
    has: [],
    want: 'Cannot use MCP "wiki": chromium, chrome are not on this host, one of them must be',
  },
];

Deno.test("checkPrograms() names the first missing program, and how to install it", async () => {
  for (const { needs, has, want } of ROWS) {
    const found = await checkPrograms(manifest("wiki", { hostPrograms: needs }), onHost(...has));
    assert.equal(found.ok ? found.value : found.error.message, want);
    if (found.ok) continue;
    assert.equal(found.error.code, "program-missing");
    assert.deepEqual(found.error.hints, [needs.at(-1)?.install]);
  }
});
