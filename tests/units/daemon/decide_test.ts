/**
 * The daemon lets the gateway's user enroll a first dial key, and nothing else.
 *
 * @module
 */

import assert from "node:assert/strict";
import { splitArguments } from "core/os/argv.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { judge } from "units/daemon/decide.ts";

const KEY = "A".repeat(43);
const ROWS: readonly [argv: readonly string[], as: string | undefined, want: string][] = [
  [["agents", "key", "enroll", "--first", "--", "ada", KEY], undefined, "the gateway"],
  [["agents", "key", "enroll", "--", "ada", KEY], undefined, "the gateway"],
  [["agents", "key", "revoke", "ada"], undefined, "not for the gateway"],
  [["agents", "key", "list"], undefined, "not for the gateway"],
  [["agents", "list"], undefined, "not for the gateway"],
  [["secret", "get", "KEY", "--agent=ada"], undefined, "not for the gateway"],
  [["apply"], undefined, "not for the gateway"],
  [["agents", "restart", "ada"], "ada", "caller not identified"],
];
for (const [argv, as, want] of ROWS) {
  Deno.test(`judge() answers "${want}" to the gateway: ${argv.slice(0, 4).join(" ")}`, async () => {
    const host = memoryHost({
      users: { users: [{ name: "fleetctl-gateway", uid: 990, gid: 990, home: "/nowhere" }] },
    });
    const paths = pathsUnder("/");
    await host.files.ensureDir(paths.agentsDir);
    await host.files.write(paths.agentShard("ada"), "name: ada\nchannel: webview\n");
    const line = new TextEncoder().encode(JSON.stringify({ argv, ...(as ? { as } : {}) }));
    const judged = await judge(line, { uid: 990, gid: 990, pid: 7 }, {
      ports: host,
      paths,
      tokenize: splitArguments,
      ownUid: 0,
    });
    assert.equal(judged.reason, want);
    assert.equal(judged.allowed, want === "the gateway");
  });
}
