/**
 * Maps of the ledger that are too long for one variable: 6,000 owners are written to a file, and
 * the reader of the setting finds them there.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseEnvFile } from "core/text/env_file.ts";
import { pathsUnder } from "core/paths.ts";
import { withSettingFiles } from "core/settings/setting_files.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { readTeamchatConfig } from "teamchat/config.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { desiredTeamchat } from "units/reconcile/desired_teamchat.ts";

const paths = pathsUnder("/");

function ownersOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, place) => [
    `00000000-0000-4000-8000-${String(place).padStart(12, "0")}`,
    `agent-${place}`,
  ]));
}

function rendered(count: number) {
  const { roles, ...rest } = facts({ ada: [] }, { root: "/" });
  assert.ok(roles.teamchat !== undefined);
  const agentsJson = JSON.stringify(ownersOf(count));
  const desired = desiredTeamchat(
    { ...rest, roles: { ...roles, teamchat: { ...roles.teamchat, agentsJson } } },
    () => [],
  );
  const text = (path: string) => desired.files.find(({ file }) => file.path === path)?.file;
  return { desired, text, agentsJson };
}

Deno.test("receiver and sender know the owners' file; a change restarts neither", async () => {
  const { text, desired } = rendered(6_000);
  const file = text(paths.teamsAgents);
  assert.deepEqual([file?.mode, file?.owner.user], [0o644, "root"]);
  for (const name of ["teams-gateway", "teams-receiver"]) {
    const content = text(paths.env(name))?.content ?? "";
    assert.ok(content.length < 10_000);
    const env = parseEnvFile(content);
    assert.ok(env.ok);
    assert.equal(env.value.get("TEAMS_AGENTS"), paths.teamsAgents);
  }
  const other = rendered(5_999).desired.units.map(({ inputs }) => inputs);
  assert.deepEqual(desired.units.map(({ inputs }) => inputs), other);
  const files = memoryFiles();
  await files.ensureDir("/etc/fleetctl");
  await files.write(paths.teamsAgents, file?.content ?? "");
  const env = await withSettingFiles(
    { TEAMS_AGENTS: paths.teamsAgents, TEAMS_REGISTER_LISTEN: "127.0.0.1:1" },
    ["TEAMS_AGENTS"],
    files,
  );
  const config = readTeamchatConfig(env, { privateAddress: undefined, cloudFile: undefined });
  assert.ok(config.ok);
  assert.equal(config.value.agents.size, 6_000);
});

Deno.test("a missing file is a fault that names the setting", async () => {
  const env = await withSettingFiles(
    { TEAMS_AGENTS: "/nowhere.json" },
    ["TEAMS_AGENTS"],
    memoryFiles(),
  );
  const config = readTeamchatConfig(env, { privateAddress: undefined, cloudFile: undefined });
  assert.ok(!config.ok);
  assert.match(config.error.details.join(), /TEAMS_AGENTS/);
});
