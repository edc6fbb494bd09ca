/**
 * The last lines of a unit's log, and the kind of fault that they indicate.
 *
 * @module
 */

import assert from "node:assert/strict";
import { lastError } from "cli/status/last_error.ts";

function logged(event: string, error: string, level = "error"): string {
  return JSON.stringify({ at: "2026-01-01T00:00:00.000Z", level, program: "x", event, error });
}

const READY = JSON.stringify({ level: "info", event: "ready" });

Deno.test("the last error is preferred to warnings and messages of the service manager", () => {
  const words = lastError([
    logged("cannot serve", "Cannot listen on 127.0.0.1:8735: the port is taken"),
    logged("slow", "late", "warn"),
    "fleetctl-gateway.service: Main process exited, code=exited, status=1/FAILURE",
    "Stopped fleetctl-gateway.service - fleetctl gateway.",
  ]);
  assert.deepEqual(words, {
    line: "cannot serve: Cannot listen on 127.0.0.1:8735: the port is taken",
    fault: { kind: "port-taken", host: "127.0.0.1", port: 8735 },
  });
});

Deno.test("an error before the last successful start is no cause", () => {
  assert.equal(lastError([logged("cannot serve", "gone by"), READY]), undefined);
  assert.equal(lastError([READY, logged("ended", "of this run")])?.line, "ended: of this run");
});

Deno.test("a line that is not JSON is reported when there is no better one", () => {
  const failed = "fleetctl-gateway.service: Failed at step EXEC spawning /usr/lib/x: No such file";
  assert.equal(lastError(["Started a.", failed, "Stopped a."])?.line, failed);
  assert.equal(lastError(["Started a.", "Stopped a."]), undefined);
});

Deno.test("files that cannot be opened and full disks are recognized", () => {
  const faultOf = (error: string) => lastError([logged("cannot serve", error)])?.fault;
  for (const state of ["permission denied", "unable to open database file: /a/b.db"]) {
    assert.deepEqual(faultOf(`Cannot open "/a/b.db": ${state}`), {
      kind: "file-denied",
      path: "/a/b.db",
    });
  }
  assert.deepEqual(faultOf('Cannot write "/a/b.db": no space left on the disk'), {
    kind: "disk-full",
    path: "/a/b.db",
  });
  assert.equal(faultOf('Cannot open "/a/b.db": it is a folder'), undefined);
});

Deno.test("an inaccessible working folder outranks the service manager's summary", () => {
  const unit = "fleetctl-dial-ada.service";
  const denied = `${unit}: Failed at step CHDIR spawning /usr/lib/x: Permission denied`;
  assert.deepEqual(
    lastError([
      `${unit}: Changing to the requested working directory failed: Permission denied`,
      denied,
      `${unit}: Main process exited, code=exited, status=200/CHDIR`,
      `Failed to start ${unit} - fleetctl dial unit and runtime of agent ada.`,
    ]),
    { line: denied, fault: { kind: "work-folder-denied" } },
  );
});
