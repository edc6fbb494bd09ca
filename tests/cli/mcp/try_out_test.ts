/**
 * Where a try may start a stranger's program at all.
 *
 * @module
 */

import assert from "node:assert/strict";
import { confinement } from "cli/mcp/catalog/try_out.ts";
import { pathsUnder } from "core/paths.ts";

const BOTH = ["unshare", "setpriv"];

Deno.test("as root on a real host nothing is tried out without unshare and setpriv", async () => {
  for (
    const [uid, root, programs, want] of [
      [0, "/", BOTH, ["/usr/bin/unshare", "--net"]],
      [0, "/", ["setpriv"], "unshare"],
      [0, "/", ["unshare"], "setpriv"],
      [0, "/", [], "unshare"],
      [1000, "/", [], []],
      [0, "/tmp/root", [], []],
    ] as const
  ) {
    const found = await confinement({
      paths: pathsUnder(root),
      ports: {
        users: { currentUid: () => uid },
        processes: {
          which: (name: string) =>
            Promise.resolve(
              (programs as readonly string[]).includes(name) ? `/usr/bin/${name}` : undefined,
            ),
        },
      } as unknown as Parameters<typeof confinement>[0]["ports"],
    });
    const at = JSON.stringify([uid, root, programs]);
    if (typeof want !== "string") {
      assert.ok(found.ok, at);
      assert.deepEqual(found.value.slice(0, 2), want, at);
    } else {
      assert.ok(!found.ok && found.error.code === "try-unconfined", at);
      assert.match(found.error.message, new RegExp(want), at);
      assert.deepEqual(found.error.hints, ["apt-get install util-linux"], at);
    }
  }
});
