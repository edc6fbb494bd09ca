/**
 * Maps the installer's output to refusals. Paths and ports are random, so no row may depend on
 * them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runInstall } from "core/catalog/install.ts";

const INSTALL = {
  mcp: "wiki",
  package: "@acme/wiki",
  version: "1.0.0",
  folder: "/srv/stage",
  cache: "/srv/cache",
  deno: "deno",
  env: {},
};

/** The installer's stderr, and the code of the resulting refusal. */
const ROWS: readonly (readonly [string, string])[] = [
  ["error: npm package '@acme/wiki' does not exist.", "package-not-found"],
  ["error: Could not find npm package '@acme/wiki' matching '9.9.9'.", "package-not-found"],
  ["error: Bad response: 404 Not Found: http://[::1]:1/@acme%2fwiki", "package-not-found"],
  ["Failed writing /srv/.4041/a: No space left on device (os error 28)", "disk-full"],
  ["Failed writing /srv/connect/a: No space left on device (os error 28)", "disk-full"],
  ["error sending request for url (http://127.0.0.1:40404/@acme%2fwiki)", "registry-unreachable"],
  ["Tarball checksum did not match for /srv/.4041/wiki", "package-altered"],
  ["panicked at /srv/.4041/lib.rs", "install-failed"],
];

Deno.test("runInstall() explains what the installer printed", async () => {
  for (const [stderr, code] of ROWS) {
    const ended = { code: 1, signal: undefined, stdout: "", stderr, truncated: false };
    const processes = {
      run: () => Promise.resolve({ ...ended, timedOut: false }),
      which: () => Promise.resolve(undefined),
    };
    const result = await runInstall(processes, INSTALL, { frozen: true, offline: false });
    assert.equal(result.ok ? "ok" : result.error.code, code, stderr);
  }
});
