/**
 * The exit code of `fleetctl status`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { exitOf } from "cli/status/level.ts";

Deno.test("a fault has level 1, an operator's task level 3, an unknown code level 1", () => {
  assert.equal(exitOf([]), 0);
  assert.equal(exitOf([{ code: "restart-pending" }]), 3);
  assert.equal(exitOf([{ code: "restart-pending" }, { code: "role-down" }]), 1);
  assert.equal(exitOf([{ code: "made-up" }]), 1);
});
