/**
 * The exit code of `fleetctl status`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { exitOf } from "cli/status/level.ts";

Deno.test("a fault is 1, what waits for an operator 3, and an unknown code a fault", () => {
  assert.equal(exitOf([]), 0);
  assert.equal(exitOf([{ code: "restart-pending" }]), 3);
  assert.equal(exitOf([{ code: "restart-pending" }, { code: "role-down" }]), 1);
  assert.equal(exitOf([{ code: "made-up" }]), 1);
});
