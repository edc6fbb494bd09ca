/** Tests of the hinted command that shows the last log lines of a unit. @module */

import assert from "node:assert/strict";
import { logHint } from "core/hints/log_hint.ts";
import { pathsUnder } from "core/paths.ts";

Deno.test("logHint() names the journal on a real host", () => {
  assert.equal(logHint(pathsUnder("/"), "a.service"), "journalctl -u a.service -n 50");
});

Deno.test("logHint() names the log file under another root, where there is no journal", () => {
  assert.equal(
    logHint(pathsUnder("/home/mia x"), "a.service"),
    "tail -n 50 '/home/mia x/var/log/fleetctl/a.service.log'",
  );
});
