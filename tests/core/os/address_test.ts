/**
 * @module
 */

import assert from "node:assert/strict";
import { addressFault, parseHolder, printAddress } from "core/os/address.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";

const LINE =
  'LISTEN 0 511 127.0.0.1:8731 0.0.0.0:* users:(("deno",pid=812,fd=12),("x",pid=9,fd=1))\n';

function thrownLike(code: string): Error {
  return Object.assign(new Error("as thrown"), { code });
}

Deno.test("parseHolder() names the first process, or returns undefined", () => {
  assert.equal(parseHolder(LINE), "deno (pid 812)");
  assert.equal(parseHolder("LISTEN 0 511 127.0.0.1:8731 0.0.0.0:*\n"), undefined);
  assert.equal(parseHolder(""), undefined);
});

Deno.test("printAddress() puts IPv6 in brackets", () => {
  assert.equal(printAddress({ hostname: "::1", port: 80 }), "[::1]:80");
  assert.equal(printAddress({ hostname: "127.0.0.1", port: 80 }), "127.0.0.1:80");
});

Deno.test("addressFault() states why an address cannot be bound", async () => {
  const rows = [
    ["EADDRINUSE", 8731, "in-use", "the port is taken by deno (pid 812)"],
    ["EACCES", 80, "not-permitted", "ports below 1024 are not permitted for this user"],
    ["EACCES", 8731, "not-permitted", "not permitted for this program"],
    ["EADDRNOTAVAIL", 8731, "not-available", "this machine has no such address"],
    ["EINVAL", 8731, "not-available", "as thrown"],
  ] as const;
  for (const [code, port, reason, state] of rows) {
    const at = { hostname: "127.0.0.1", port };
    const processes = fakeProcesses({ ss: (call) => call.print(LINE) });
    const fault = await addressFault(at, thrownLike(code), processes);
    assert.equal(fault.reason, reason);
    assert.equal(fault.message, `Cannot listen on 127.0.0.1:${port}: ${state}`);
  }
});

Deno.test("addressFault() omits the holder where it cannot be queried", async () => {
  const at = { hostname: "127.0.0.1", port: 8731 };
  const fault = await addressFault(at, thrownLike("EADDRINUSE"), fakeProcesses());
  assert.equal(fault.holder, undefined);
  assert.equal(fault.message, "Cannot listen on 127.0.0.1:8731: the port is taken");
});

Deno.test("addressFault() does not run a program that is not permitted", {
  permissions: { run: false },
}, async () => {
  const at = { hostname: "127.0.0.1", port: 8731 };
  const processes = fakeProcesses({ ss: () => assert.fail("asked") });
  assert.equal((await addressFault(at, thrownLike("EADDRINUSE"), processes)).holder, undefined);
});
