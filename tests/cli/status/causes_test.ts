/**
 * Which log lines count as evidence: the journal of an agent's unit is written by the agent's
 * programs.
 *
 * @module
 */

import assert from "node:assert/strict";
import { findCauses } from "cli/status/causes.ts";
import type { VerbContext } from "cli/context.ts";
import { pathsUnder } from "core/paths.ts";

const SAID = JSON.stringify({
  level: "error",
  event: "cannot serve",
  error: "Cannot listen on 127.0.0.1:22: the port is taken",
});

Deno.test("an agent's journal leads to no command against the user of a port", async () => {
  const asked: string[] = [];
  const context = {
    paths: pathsUnder("/"),
    ports: {
      services: () => ({ name: "systemd", journal: async () => [SAID] }),
      processes: {
        run: async ({ command }: { readonly command: string }) => {
          asked.push(command);
          return { code: 0, stdout: "", stderr: "" };
        },
      },
    },
  } as unknown as VerbContext;
  const found = await findCauses(context, ["fleetctl-dial-ada.service", "mcp-git-ada.socket"]);
  assert.deepEqual([...found.values()].map(({ hints }) => hints), [[], []]);
  assert.deepEqual(asked, []);
  await findCauses(context, ["fleetctl-gateway.service"]);
  assert.deepEqual(asked, ["/bin/cat"], "the holder of a role's port is looked up");
});

Deno.test("the nearest existing folder explains why a missing file was denied", async () => {
  const line = JSON.stringify({
    level: "error",
    event: "cannot serve",
    error: 'Cannot look at "/home/ada/.fleetctl/dial/worktrees": permission denied',
  });
  const rooted = new Set(["/home/ada/.fleetctl", "/home/ada/.fleetctl/dial"]);
  const context = {
    paths: pathsUnder("/"),
    ports: {
      services: () => ({ name: "systemd", journal: async () => [line] }),
      files: { stat: async (path: string) => rooted.has(path) ? { uid: 0 } : undefined },
      users: { byUid: async () => ({ name: "root" }) },
    },
  } as unknown as VerbContext;
  const found = await findCauses(context, ["fleetctl-dial-ada.service"]);
  const [cause] = found.values();
  assert.ok(
    cause?.details.includes('"/home/ada/.fleetctl/dial" belongs to root, must belong to ada'),
    JSON.stringify(cause),
  );
});
