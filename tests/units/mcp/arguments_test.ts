/**
 * The arguments of `fleetctl-mcp`, and the program's own answers to bad ones.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseProgramArguments } from "units/mcp/arguments.ts";

Deno.test("parseProgramArguments() accepts or refuses each command line", () => {
  for (
    const [line, want] of [
      ["proxy git --socket /run/mcp/git-ada.sock", {
        kind: "proxy",
        mcp: "git",
        socket: "/run/mcp/git-ada.sock",
      }],
      ["serve messenger", { kind: "serve", server: "messenger" }],
      ["check git", { kind: "check", mcp: "git" }],
      ["--help", { kind: "help" }],
      ["--check-config", { kind: "check-config" }],
    ] as const
  ) {
    assert.deepEqual(parseProgramArguments(line.split(" ")), { ok: true, value: want }, line);
  }
  for (
    const [line, code] of [
      ["", "usage-invalid"],
      ["run git", "usage-invalid"],
      ["proxy git", "usage-invalid"],
      ["proxy git --socket", "usage-invalid"],
      ["proxy git --socket relative.sock", "usage-invalid"],
      [`proxy git --socket /${"x".repeat(107)}`, "usage-invalid"],
      ["proxy git --socket /a more", "usage-invalid"],
      ["proxy ../x --socket /a", "name-invalid"],
      ["serve notes", "usage-invalid"],
      ["serve", "usage-invalid"],
      ["check git more", "usage-invalid"],
    ] as const
  ) {
    const parsed = parseProgramArguments(line.split(" "));
    assert.ok(!parsed.ok && parsed.error.code === code, line);
    assert.equal(parsed.error.kind, "usage");
  }
});
