/**
 * Shards: round trip, faults by file, line and key, and edits that preserve everything else.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type AgentRecord, CHANNELS } from "core/ledger/agent.ts";
import { editShard, parseShard, printShard, type ShardEdit } from "core/ledger/shard.ts";
import type { AgentName, Email, HostName, McpName, ObjectId } from "core/names.ts";

const FILE = "agents.d/ada.yaml";
const KEY = "A".repeat(43);

function parse(text: string): AgentRecord {
  const parsed = parseShard(text, FILE);
  assert(parsed.ok, parsed.ok ? "" : parsed.error.details.join("\n"));
  return parsed.value;
}

Deno.test("parseShard() reads every field", () => {
  assert.deepEqual(
    parse(`name: ada
channel: teamchat
user_email: " Ada@Example.org "
owner_aad: 8F2C0000-1111-2222-3333-444455556666
owner_email: boss@example.org
runtime: runtime-a
provider: openai
model: vendor/model-4.1:free
run_on: Atlas
workspace: ~/ws
ask: outside
ask_time: 8h
worktrees: yes
setup: bin/setup
ceiling: day=5usd
sandbox: on
sandbox_network: all
persona: |
  You are terse.
  You like trains.
admin: true
tools:
  add: [git, notes]
  remove: [browser]
limits: { memory_max: 2G, memory_high: 1536m, tasks_max: 512, cpu_weight: 50, io_weight: 20 }
created: 2026-01-31T08:00:00Z
dial_keys: [${KEY}]
`),
    {
      name: "ada",
      channel: "teamchat",
      userEmail: "ada@example.org",
      ownerAad: "8f2c0000-1111-2222-3333-444455556666",
      ownerEmail: "boss@example.org",
      runtime: "runtime-a",
      provider: "openai",
      model: "vendor/model-4.1:free",
      runOn: "atlas",
      workspace: "~/ws",
      ask: "outside",
      askTime: "8h",
      worktrees: "yes",
      setup: "bin/setup",
      ceiling: "day=5usd",
      sandbox: "on",
      sandboxNetwork: "all",
      persona: "You are terse.\nYou like trains.",
      isAdmin: true,
      tools: { add: ["git", "notes"], remove: ["browser"] },
      limits: {
        memoryHighBytes: 1536 * 1024 ** 2,
        memoryMaxBytes: 2 * 1024 ** 3,
        tasksMax: 512,
        cpuWeight: 50,
        ioWeight: 20,
      },
      created: "2026-01-31T08:00:00Z",
      dialKeys: [KEY],
    },
  );
});

Deno.test("parseShard() treats empty values as absent", () => {
  const text = "name: ada\nchannel: webview\nrun_on: ''\nuser_email:\ntools:\n  add:\nadmin:\n";
  assert.deepEqual(parse(text), {
    name: "ada",
    channel: "webview",
    runtime: "runtime-b",
    isAdmin: false,
    tools: { add: [], remove: [] },
  });
});

Deno.test("parseShard() distinguishes revoked keys from keys that never existed", () => {
  assert.deepEqual(parse(`${HEAD}dial_keys: []\n`).dialKeys, []);
  assert.ok(!Object.hasOwn(parse(HEAD), "dialKeys"));
});

const HEAD = "name: ada\nchannel: webview\n";
const FAULTS: readonly { name: string; text: string; want: readonly string[] }[] = [
  {
    name: "an empty file",
    text: "",
    want: [`${FILE}:1: must be a mapping with at least name and channel`],
  },
  {
    name: "missing keys",
    text: "admin: false\n",
    want: [
      `${FILE}:1: name: not set, must be the agent's name`,
      `${FILE}:1: channel: not set, must be webview, messenger, teamchat, workchat`,
    ],
  },
  {
    name: "another agent's name",
    text: "channel: webview\nname: bea\n",
    want: [`${FILE}:2: name: is "bea", must be "ada", like the file name`],
  },
  {
    name: "unknown keys",
    text: `${HEAD}user-email: a@b.org\ntools:\n  git: true\n`,
    want: [
      `${FILE}:3: user-email: unknown key, must be one of name, channel, user_email, owner_aad, ` +
      "owner_email, runtime, provider, model, run_on, workspace, ask, ask_time, worktrees, " +
      "setup, ceiling, sandbox, sandbox_network, persona, " +
      "admin, tools, limits, created, stopped, dial_keys",
      `${FILE}:5: tools.git: unknown key, must be one of add, remove`,
    ],
  },
  {
    name: "bad values",
    text: `${HEAD}user_email: nobody\nowner_aad: 7\nrun_on: 10.0.0.7\nadmin: "yes"\n` +
      `model: "a b"\nruntime: Runtime\ncreated: yesterday\ntools:\n  add: [Git, ok, ok]\n` +
      "dial_keys: [short]\n",
    want: [
      `${FILE}:3: user_email: is "nobody", must have the form name@domain`,
      `${FILE}:4: owner_aad: is the number 7, must be a string (put it in quotes)`,
      `${FILE}:8: runtime: is "Runtime", must be a runtime name`,
      `${FILE}:7: model: is "a b", must be a model name`,
      `${FILE}:5: run_on: is "10.0.0.7", must be a hostname, not an IP address`,
      `${FILE}:9: created: is "yesterday", must be a UTC time such as 2026-01-31T08:00:00Z`,
      `${FILE}:6: admin: must be true or false`,
      `${FILE}:11: tools.add[0]: is "Git", must start with a lowercase letter and contain at ` +
      "most 31 of a-z, 0-9 and -",
      `${FILE}:11: tools.add[2]: "ok" appears twice`,
      `${FILE}:12: dial_keys[0]: is "short", must be an Ed25519 key in base64url`,
    ],
  },
  {
    name: "limits without a unit, out of bounds, and in the wrong order",
    text: `${HEAD}limits:\n  memory_max: 512\n  memory_high: 1K\n  tasks_max: 5\n  swap: 1G\n`,
    want: [
      `${FILE}:7: limits.swap: unknown key, must be one of memory_high, memory_max, tasks_max, ` +
      "cpu_weight, io_weight",
      `${FILE}:5: limits.memory_high: is "1K", must be a size from 256M to 64T, such as 2G`,
      `${FILE}:4: limits.memory_max: is the number 512, must be a string (put it in quotes)`,
      `${FILE}:6: limits.tasks_max: is "5", must be a whole number from 128 to 4194304`,
    ],
  },
  {
    name: "a workspace that is not a path",
    text: `${HEAD}workspace: ../etc\n`,
    want: [`${FILE}:3: workspace: is "../etc", must be an absolute path or begin with ~/`],
  },
  {
    name: "a threshold above the ceiling",
    text: `${HEAD}limits: { memory_high: 3G, memory_max: 2G }\n`,
    want: [`${FILE}:3: limits: memory_high is above memory_max, must be at most that`],
  },
  {
    name: "dial keys that are neither a list nor absent",
    text: `${HEAD}dial_keys:\n`,
    want: [`${FILE}:3: dial_keys: has no value, must be a list ([] when every key was revoked)`],
  },
  {
    name: "more dial keys than are kept",
    text: `${HEAD}dial_keys: [${
      Array.from({ length: 17 }, (_, at) => String.fromCharCode(65 + at).repeat(43))
    }]\n`,
    want: [`${FILE}:3: dial_keys: contains 17 keys, must be at most 16`],
  },
  {
    name: "an MCP both added and removed",
    text: `${HEAD}tools: { add: [git], remove: [git] }\n`,
    want: [`${FILE}:3: tools.remove: "git" is also in add, must be in one of the two lists`],
  },
  {
    name: "a list of agents",
    text: "- name: ada\n",
    want: [`${FILE}:1: must be a mapping with at least name and channel`],
  },
];

for (const row of FAULTS) {
  Deno.test(`parseShard() refuses ${row.name}`, () => {
    const parsed = parseShard(row.text, FILE);
    assert(!parsed.ok);
    assert.equal(parsed.error.code, "shard-invalid");
    assert.deepEqual(parsed.error.details, row.want);
  });
}

Deno.test("parseShard() names the line of broken YAML and what to do", () => {
  const parsed = parseShard("name: ada\nchannel: [webview\n", FILE);
  assert(!parsed.ok);
  assert.match(parsed.error.message, /^Cannot read the shard "agents.d\/ada.yaml": 1 fault$/);
  assert.match(parsed.error.details[0] ?? "", /^agents\.d\/ada\.yaml:[23]: /);
  assert.deepEqual(parsed.error.hints, [`\${EDITOR:-vi} ${FILE} && fleetctl apply`]);
});

Deno.test("parseShard() refuses a duplicate key, an alias bomb and a huge file", () => {
  const bomb = `${HEAD}x: &a [1,1,1,1,1,1,1,1,1]\ny: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n` +
    "z: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n";
  for (const text of [`${HEAD}channel: webview\n`, bomb, `${HEAD}# ${"x".repeat(300_000)}\n`]) {
    const parsed = parseShard(text, FILE);
    assert.equal(parsed.ok ? "" : parsed.error.code, "shard-invalid");
  }
});

const HAND_EDITED = `# Ada answers the front desk.
channel: webview # she reads mail
name: ada

tools:
  # what the desk needs
  add:
    - git # for the site
    - notes
  remove: []
user_email: "ada@example.org"
# pinned by hand
run_on: atlas
`;

const EDITS: readonly { name: string; edit: ShardEdit; want: string }[] = [
  { name: "nothing", edit: {}, want: HAND_EDITED },
  {
    name: "the same values",
    edit: { channel: "webview", userEmail: "ada@example.org" as Email, isAdmin: false },
    want: HAND_EDITED,
  },
  {
    name: "one tool more",
    edit: { tools: { add: ["git", "notes", "image"] as McpName[], remove: [] } },
    want: HAND_EDITED.replace("    - notes\n", "    - notes\n    - image\n")
      .replace("  remove: []\n", ""),
  },
  {
    name: "one tool less",
    edit: { tools: { add: ["git"] as McpName[], remove: ["browser"] as McpName[] } },
    want: HAND_EDITED.replace("    - notes\n", "").replace("[]", "[browser]"),
  },
  {
    name: "a removed pin and a new model",
    edit: { runOn: undefined, model: "big-1" },
    want: HAND_EDITED.replace("# pinned by hand\nrun_on: atlas\n", "model: big-1\n"),
  },
  {
    name: "an admin marker and a key",
    edit: { isAdmin: true, dialKeys: [KEY] },
    want: `${HAND_EDITED}admin: true\ndial_keys:\n  - ${KEY}\n`,
  },
  {
    name: "its keys to an empty list",
    edit: { dialKeys: [] },
    want: `${HAND_EDITED}dial_keys: []\n`,
  },
];

for (const row of EDITS) {
  Deno.test(`editShard() keeps comments and order when it changes ${row.name}`, () => {
    const edited = editShard(HAND_EDITED, row.edit, FILE);
    assert(edited.ok, edited.ok ? "" : edited.error.message);
    assert.equal(edited.value, row.want);
  });
}

Deno.test("editShard() refuses an unreadable shard, and an edit with an unreadable result", () => {
  const broken = editShard("name: ada\n", { model: "x" }, FILE);
  assert.equal(broken.ok ? "" : broken.error.code, "shard-invalid");
  const bad = editShard(HAND_EDITED, { model: "has blanks" }, FILE);
  assert.deepEqual(bad.ok ? [] : bad.error.details, [
    `${FILE}:14: model: is "has blanks", must be a model name`,
  ]);
});

const mcps = fc.uniqueArray(fc.constantFrom("git", "notes", "image", "audio", "maps"), {
  maxLength: 5,
}).chain((names) =>
  fc.nat({ max: names.length }).map((cut) => ({
    add: names.slice(0, cut) as McpName[],
    remove: names.slice(cut) as McpName[],
  }))
);
const fields = fc.record({
  channel: fc.constantFrom(...CHANNELS),
  userEmail: fc.constantFrom("ada@example.org", "null@x.org", "1@2.org") as fc.Arbitrary<Email>,
  ownerAad: fc.constant("8f2c0000-1111-2222-3333-444455556666") as fc.Arbitrary<ObjectId>,
  runtime: fc.constantFrom("runtime-a", "true", "runtime-b"),
  provider: fc.constantFrom("openai", "null", "0x10", "1e3"),
  model: fc.constantFrom("4.1", "no", "a/b:c@d+e"),
  runOn: fc.constantFrom("atlas", "off", "atlas.example.org") as fc.Arbitrary<HostName>,
  isAdmin: fc.boolean(),
  tools: mcps,
  dialKeys: fc.constantFrom([], [KEY], ["B".repeat(43), KEY]),
}, { requiredKeys: ["channel", "runtime", "isAdmin", "tools"] });

Deno.test("parseShard() reads the output of printShard()", () => {
  fc.assert(fc.property(fields, (given) => {
    const record: AgentRecord = { name: "ada" as AgentName, ...given };
    assert.deepEqual(parse(printShard(record)), record);
  }));
});

Deno.test("editShard() produces the requested record, and keeps every comment", () => {
  fc.assert(fc.property(fields, fields, (before, edit) => {
    const record: AgentRecord = { name: "ada" as AgentName, ...before };
    const text = printShard(record).split("\n").map((line) =>
      /^\S+: \S/.test(line) ? `${line} # about ${line.split(":")[0]}` : line
    ).join("\n");
    const edited = editShard(text, edit, FILE);
    assert(edited.ok, edited.ok ? "" : edited.error.details.join("\n"));
    const after = parse(edited.value);
    // Lists keep the order of the entries that stay, so the test compares them as sets.
    const asSets = ({ tools, dialKeys, ...rest }: AgentRecord) => ({
      ...rest,
      add: new Set(tools.add),
      remove: new Set(tools.remove),
      dialKeys: dialKeys === undefined ? undefined : new Set(dialKeys),
    });
    assert.deepEqual(asSets(after), asSets({ ...record, ...edit }));
    for (const key of ["name", "channel"]) assert(edited.value.includes(`# about ${key}`));
  }));
});
