/**
 * The ledger as a whole: one bad shard hides no other, and a value that two agents claim maps to
 * neither.
 *
 * @module
 */

import { parseRosterFile } from "core/access/roster_file.ts";
import { rosterOf } from "core/access/viewer.ts";
import assert from "node:assert/strict";
import { checkUnique, findAgent, type Ledger, readLedger } from "core/ledger/ledger.ts";
import {
  renderTeamsAgents,
  renderWebviewAdmins,
  renderWebviewLedger,
  renderWebviewRoster,
  teamsAgentsType,
} from "core/ledger/maps.ts";
import type { Email } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { readSettings, required } from "core/settings/settings.ts";
import { GATEWAY_SETTINGS } from "gateway/config.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const PATHS = pathsUnder("/root");
const AAD = "8f2c0000-1111-2222-3333-444455556666";

function shard(name: string, lines: readonly string[] = []): Record<string, string> {
  const text = [`name: ${name}`, "channel: teamchat", ...lines].join("\n");
  return { [PATHS.agentShard(name)]: `${text}\n` };
}

async function read(files: Readonly<Record<string, string>>): Promise<Ledger> {
  const ledger = await readLedger(memoryFiles(files), PATHS);
  assert(ledger.ok);
  return ledger.value;
}

Deno.test("readLedger() reads every shard and skips other files", async () => {
  const ledger = await read({
    ...shard("bea"),
    ...shard("ada"),
    [`${PATHS.agentsDir}/README.md`]: "no shard",
    [`${PATHS.agentsDir}/.zed.yaml.fleetctl-staged`]: "half",
    [`${PATHS.agentsDir}/.0a.fleetctl-tmp`]: "half",
  });
  assert.deepEqual([...ledger.agents.keys()], ["ada", "bea"]);
  assert.deepEqual(ledger.faults, []);
});

Deno.test("readLedger() is empty when there is no folder", async () => {
  const ledger = await read({});
  assert.equal(ledger.agents.size, 0);
});

Deno.test("readLedger() lists a corrupt shard by file and line and hides no other", async () => {
  const ledger = await read({
    ...shard("ada"),
    [PATHS.agentShard("bea")]: "name: bea\nchannel: {teamchat\n",
    ...shard("cal", ["colour: red"]),
    [PATHS.agentShard("Dan")]: "name: Dan\nchannel: webview\n",
    [PATHS.agentShard("eve")]: "name: eve\nchannel: \ufffd\n",
  });
  assert.deepEqual([...ledger.agents.keys()], ["ada"]);
  assert.deepEqual(ledger.faults.map((fault) => [fault.code, fault.message]), [
    ["shard-invalid", 'Cannot read the shard "agents.d/Dan.yaml": 1 fault'],
    ["shard-invalid", 'Cannot read the shard "agents.d/bea.yaml": 1 fault'],
    ["shard-invalid", 'Cannot read the shard "agents.d/cal.yaml": 1 fault'],
    ["shard-invalid", 'Cannot read the shard "agents.d/eve.yaml": it is not UTF-8 text'],
  ]);
  assert.deepEqual([...ledger.unreadable.keys()], ["bea", "cal", "eve"]);
  for (const fault of ledger.faults) {
    assert.match(fault.details[0] ?? "", /^agents\.d\/\w+\.yaml:\d+: /);
    assert.notEqual(fault.hints.length, 0);
  }
});

Deno.test("readLedger() refuses a shard that is a link", async () => {
  const files = memoryFiles({ ...shard("ada"), "/etc/passwd": "name: bea\nchannel: webview\n" });
  await files.symlink("/etc/passwd", PATHS.agentShard("bea"));
  const ledger = await readLedger(files, PATHS);
  assert(ledger.ok);
  assert.deepEqual([...ledger.value.agents.keys()], ["ada"]);
  assert.deepEqual(ledger.value.faults.map((fault) => fault.message), [
    'Cannot read the shard "agents.d/bea.yaml": it is a link, must be a regular file',
  ]);
});

Deno.test("findAgent() distinguishes an unknown agent from one whose shard is broken", async () => {
  const ledger = await read({ ...shard("ada"), [PATHS.agentShard("bea")]: "name: bea\n" });
  assert(findAgent(ledger, "ada").ok);
  const codes = ["bea", "zed", "self", "../x"].map((name) => {
    const found = findAgent(ledger, name);
    return found.ok ? "ok" : found.error.code;
  });
  assert.deepEqual(codes, ["shard-invalid", "agent-unknown", "name-invalid", "name-invalid"]);
  const zed = findAgent(ledger, "zed");
  assert.equal(zed.ok ? "" : zed.error.message, 'Cannot find agent "zed": it is not in the ledger');
});

Deno.test("checkUnique() refuses an e-mail or owner that another agent has", async () => {
  const ledger = await read({
    ...shard("ada", ["user_email: ada@example.org"]),
    ...shard("bea", [`owner_aad: ${AAD}`]),
  });
  const [ada, bea] = [...ledger.agents.values()];
  assert(ada && bea);
  assert(checkUnique(ledger, ada).ok, "an agent keeps its own");
  const rows = [
    { ...bea, userEmail: "ada@example.org" as Email },
    { ...ada, ownerAad: bea.ownerAad! },
  ];
  const texts = rows.map((row) => {
    const checked = checkUnique(ledger, row);
    return checked.ok ? "" : `${checked.error.code}: ${checked.error.message}`;
  });
  assert.deepEqual(texts, [
    'claim-taken: Cannot set user_email of agent "bea": "ada@example.org" belongs to agent "ada"',
    `claim-taken: Cannot set owner_aad of agent "ada": "${AAD}" belongs to agent "bea"`,
  ]);
});

Deno.test("maps omit values that two agents claim, and report them", async () => {
  const ledger = await read({
    ...shard("ada", ["user_email: both@example.org", `owner_aad: ${AAD}`, "admin: true"]),
    ...shard("bea", ["user_email: Both@example.org", `owner_aad: ${AAD.toUpperCase()}`]),
    ...shard("cal", ["user_email: cal@example.org"]),
    ...shard("dan", ["admin: true"]),
  });
  assert.deepEqual(ledger.faults.map((fault) => [fault.code, fault.details.length]), [
    ["claim-shared", 2],
    ["claim-shared", 2],
  ]);
  const agents = [...ledger.agents.values()];
  const webview = renderWebviewLedger(agents);
  assert.equal(webview.text, '{"cal@example.org":"cal"}');
  assert.deepEqual(webview.faults.map((fault) => fault.message), [
    'Cannot map user_email "both@example.org": 2 agents have it',
  ]);
  assert.equal(renderTeamsAgents(agents).text, "{}");
  assert.equal(renderWebviewAdmins(agents), '["ada","dan"]');
  assert.equal(renderWebviewAdmins([]), "[]");
});

Deno.test("the settings of the roles can parse the maps", async () => {
  const ledger = await read({
    ...shard("ada", ["user_email: ada@example.org", `owner_aad: ${AAD}`, "admin: true"]),
    ...shard("bea", ["user_email: b'c$d@example.org"]),
    [PATHS.agentShard("cal")]: `name: cal\nchannel: webview\nowner_aad: ${
      AAD.replace("8", "9")
    }\nuser_email: __proto__@x.org\n`,
  });
  assert.deepEqual(ledger.faults, []);
  const agents = [...ledger.agents.values()];
  const settings = readSettings({
    ledger: GATEWAY_SETTINGS.ledger,
    admins: GATEWAY_SETTINGS.admins,
    teams: required("TEAMS_AGENTS", teamsAgentsType(), { doc: "" }),
  }, {
    WEBVIEW_LEDGER: renderWebviewLedger(agents).text,
    WEBVIEW_ADMINS: renderWebviewAdmins(agents),
    TEAMS_AGENTS: renderTeamsAgents(agents).text,
  });
  assert(settings.ok, settings.ok ? "" : settings.error.details.join("\n"));
  assert.deepEqual([...settings.value.ledger].sort(), [
    ["__proto__@x.org", "cal"],
    ["ada@example.org", "ada"],
    ["b'c$d@example.org", "bea"],
  ]);
  assert.deepEqual(settings.value.admins, ["ada"]);
  assert.deepEqual([...settings.value.teams], [[AAD, "ada"]]);
  const roster = parseRosterFile(renderWebviewRoster(agents));
  assert(roster.ok);
  assert.deepEqual(roster.value, rosterOf(settings.value.ledger, settings.value.admins));
});
