/**
 * Secrets as values: text of the store, limits, resolution, placement and rendering.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parseEnvFile } from "core/text/env_file.ts";
import type { AgentName, HostName, KeyName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { decidePlacement, decideReading, type SecretCaller } from "core/secrets/placement.ts";
import { renderHostOpKeys, renderSecretEnv, requireRoleKey } from "core/secrets/render.ts";
import { resolveKey, unresolvedKeys } from "core/secrets/resolve.ts";
import {
  checkSecretKey,
  checkSecretValue,
  NO_SECRETS,
  parseStore,
  printStore,
  readSecret,
  SECRET_BYTES_MAX,
  type SecretRef,
  type SecretShards,
  SHARD_KEYS_MAX,
  withSecret,
} from "core/secrets/shards.ts";
import { RUNTIME_SETTINGS } from "units/agent_loop/settings.ts";

const PATHS = pathsUnder("/");
const ATLAS = "atlas" as HostName;
const ADA = "ada" as AgentName;
const BEA = "bea" as AgentName;
const key = (name: string) => name as KeyName;

/** Converts `{ KEY: v, "ada.KEY": v }` to shards. */
function shards(values: Readonly<Record<string, string>>): SecretShards {
  let made = NO_SECRETS;
  for (const [path, value] of Object.entries(values)) {
    const [first = "", second] = path.split(".");
    const ref = second === undefined
      ? { key: key(first) }
      : { key: key(second), agent: first as AgentName };
    const next = withSecret(made, ref, value);
    assert(next.ok);
    made = next.value;
  }
  return made;
}

const refs: fc.Arbitrary<SecretRef> = fc.record({
  key: fc.stringMatching(/^[A-Z][A-Z0-9_]{0,8}$/).map(key),
  agent: fc.constantFrom(undefined, ADA, BEA),
});
const values = fc.string({ minLength: 1, maxLength: 40, unit: "binary" })
  .filter((text) => !text.includes("\0") && text.isWellFormed());
const stores = fc.array(fc.tuple(refs, values), { maxLength: 20 }).map((entries) => {
  let made = NO_SECRETS;
  for (const [ref, value] of entries) {
    const next = withSecret(made, ref, value);
    assert(next.ok);
    made = next.value;
  }
  return made;
});

Deno.test("parseStore() reads the output of printStore(), in one canonical text", () => {
  fc.assert(fc.property(stores, (given) => {
    const text = printStore({ shards: given, recipients: ["age1x"] });
    const read = parseStore(`${text}\n\n`);
    assert(read.ok, read.ok ? "" : read.error);
    assert.deepEqual(read.value, { shards: given, recipients: ["age1x"] });
    assert.equal(printStore(read.value), text);
  }));
});

Deno.test("printStore() prints shared and agent keys in the documented layout", () => {
  const text = printStore({ shards: shards({ B: "2", A: "1", "ada.K": "3" }), recipients: [] });
  assert.deepEqual(JSON.parse(text), {
    version: 1,
    recipients: [],
    A: "1",
    B: "2",
    agents: { ada: { K: "3" } },
  });
});

const BAD_STORES: readonly { text: string; want: string }[] = [
  { text: "hunter2", want: "its content is not JSON" },
  { text: "[]", want: "its content is not an object" },
  { text: "{}", want: "it has version NaN, this program reads version 1" },
  { text: '{"version":2}', want: "it has version 2, this program reads version 1" },
  { text: '{"version":1,"recipients":[1]}', want: "its list of recipients is unusable" },
  { text: '{"version":1,"recipients":[]}', want: 'its part "agents" is not an object' },
  {
    text: '{"version":1,"recipients":[],"agents":{},"key":"hunter2"}',
    want: '"key" of the shared shard is unusable',
  },
  {
    text: '{"version":1,"recipients":[],"agents":{},"KEY":2}',
    want: '"KEY" of the shared shard is unusable',
  },
  {
    text: '{"version":1,"recipients":[],"agents":{"ada":{"KEY":"hunter2\\u0000"}}}',
    want: '"KEY" of shard "ada" is unusable',
  },
  {
    text: '{"version":1,"recipients":[],"agents":{"self":{}}}',
    want: 'shard "self" is unusable',
  },
];

for (const row of BAD_STORES) {
  Deno.test(`parseStore() reports "${row.want}"`, () => {
    const parsed = parseStore(row.text);
    assert.equal(parsed.ok ? "" : parsed.error, row.want);
  });
}

const VALUES: readonly { name: string; value: string; want: string }[] = [
  { name: "an empty value", value: "", want: "the value is empty, must have 1 to 65536 bytes" },
  { name: "a NUL", value: "hunter2\0", want: "the value contains a NUL character, must be text" },
  {
    name: "half a character",
    value: "hunter2\ud800",
    want: "the value is not valid Unicode, must be text",
  },
  {
    name: "64 KiB and one byte",
    value: `${"é".repeat(SECRET_BYTES_MAX / 2)}x`,
    want: "the value has 65537 bytes, must have at most 65536",
  },
];

for (const row of VALUES) {
  Deno.test(`checkSecretValue() refuses ${row.name} without showing it`, () => {
    const checked = checkSecretValue(key("TOKEN"), row.value);
    assert.deepEqual(checked.ok ? [] : [checked.error.code, checked.error.message], [
      "value-invalid",
      `Cannot store "TOKEN": ${row.want}`,
    ]);
  });
}

Deno.test("checkSecretValue() accepts up to 64 KiB of text, newlines and quotes included", () => {
  for (const value of ["x", "é".repeat(SECRET_BYTES_MAX / 2), '-----BEGIN\n"$`\\\n-----']) {
    assert.deepEqual(checkSecretValue(key("TOKEN"), value), { ok: true, value });
  }
});

Deno.test("checkSecretKey() refuses names of variables that control programs", () => {
  const bad =
    "PATH HOME LD_PRELOAD DENO_DIR NODE_OPTIONS BASH_ENV FLEETCTL_PERMISSIONS FLEETCTL_ROOT " +
    "FLEETCTL_AGENT FLEETCTL_RUNTIME FLEETCTL_PROJECT FLEETCTL_WORKSPACE FLEETCTL_BASE_URL_ " +
    "FLEETCTL_ASK FLEETCTL_PERSONA FLEETCTL_SANDBOX FLEETCTL_SANDBOX_NETWORK " +
    "CHANNEL_USER_EMAIL PYTHONPATH GIT_CONFIG_COUNT LISTEN_FDS OPENCODE_PERMISSION " +
    "OPENCODE_CONFIG_CONTENT CLAUDE_CONFIG_DIR CLAUDE_CODE_SIMPLE CODEX_HOME " +
    "PI_CODING_AGENT_DIR";
  for (const name of bad.split(" ")) {
    const checked = checkSecretKey(name);
    assert.equal(checked.ok ? name : checked.error.code, "key-reserved");
  }
  const good =
    "CODEHOST_TOKEN NODE_AUTH_TOKEN DENO_DEPLOY_TOKEN PATHOLOGY FLEETCTL_HOST_OP_SECRET " +
    "FLEETCTL_MODEL_BASE_URL OPENAI_API_KEY GIT_TOKEN WEBVIEW_HMAC_KEY TEAMS_APP_ID HOMEPAGE_URL " +
    "CLAUDE_CODE_OAUTH_TOKEN CODEX_API_KEY OPENCODE_API_KEY ANTHROPIC_BASE_URL";
  for (const name of good.split(" ")) assert(checkSecretKey(name).ok, name);
  // Every model setting of the built-in runtime can be stored next to the keys.
  for (const { name } of Object.values(RUNTIME_SETTINGS)) {
    const ofTheUnit = [
      "FLEETCTL_PROJECT",
      "FLEETCTL_WORKSPACE",
      "FLEETCTL_ASK",
      "FLEETCTL_PERSONA",
      "FLEETCTL_SANDBOX",
      "FLEETCTL_SANDBOX_NETWORK",
    ];
    if (!ofTheUnit.includes(name)) {
      assert(checkSecretKey(name).ok, name);
    }
  }
  assert.equal((checkSecretKey("a") as { error: { code: string } }).error.code, "name-invalid");
});

Deno.test("withSecret() bounds the keys of a shard and drops an empty one", () => {
  const full = new Map(
    Array.from({ length: SHARD_KEYS_MAX }, (_, index) => [key(`K${index}`), "v"] as const),
  );
  const store = { shared: full, agents: new Map() };
  const more = withSecret(store, { key: key("ONE_MORE") }, "v");
  assert.equal(more.ok ? "" : more.error.code, "shard-full");
  assert(withSecret(store, { key: key("K1") }, "other").ok);
  const gone = withSecret(shards({ "ada.A": "1" }), { key: key("A"), agent: ADA }, undefined);
  assert.equal(gone.ok && gone.value.agents.size, 0);
});

Deno.test("withSecret() changes only the named key", () => {
  fc.assert(
    fc.property(stores, refs, fc.option(values, { nil: undefined }), (store, ref, value) => {
      const next = withSecret(store, ref, value);
      assert(next.ok);
      assert.equal(readSecret(next.value, ref), value);
      const back = withSecret(next.value, ref, readSecret(store, ref));
      assert.deepEqual(back.ok && back.value, store);
    }),
  );
});

Deno.test("resolveKey() uses the agent's shard first and the shared one as fallback", () => {
  const store = shards({ BOTH: "shared", SHARED: "s", "ada.BOTH": "own", "bea.BEAS": "b" });
  const rows: readonly [string, AgentName, unknown][] = [
    ["BOTH", ADA, { value: "own", from: "agent" }],
    ["BOTH", BEA, { value: "shared", from: "shared" }],
    ["SHARED", ADA, { value: "s", from: "shared" }],
    ["BEAS", ADA, undefined],
    ["NOWHERE", ADA, undefined],
  ];
  for (const [name, agent, want] of rows) {
    assert.deepEqual(resolveKey(store, agent, key(name)), want);
  }
  assert.deepEqual(
    unresolvedKeys(store, ADA, ["NOWHERE", "BOTH", "BEAS"].map(key)),
    ["NOWHERE", "BEAS"],
  );
});

Deno.test("resolveKey() never returns a key of the host for an agent", () => {
  const store = shards({
    WEBVIEW_HMAC_KEY: "x",
    TEAMS_APP_PASSWORD: "x",
    FLEETCTL_HOST_OP_SECRET: "x",
    FLEETCTL_HOST_OP_GRANT_SECRET: "x",
  });
  for (const name of store.shared.keys()) assert.equal(resolveKey(store, ADA, name), undefined);
});

const ROOT: SecretCaller = { isOperator: true };
const ADMIN: SecretCaller = { isOperator: true, agent: BEA };
const AGENT: SecretCaller = { isOperator: false, agent: ADA };
const NOBODY: SecretCaller = { isOperator: false };
const PLACES: readonly {
  caller: SecretCaller;
  ref: SecretRef;
  write: string;
  read: string;
}[] = [
  { caller: ROOT, ref: { key: key("T") }, write: "ok", read: "ok" },
  { caller: ROOT, ref: { key: key("T"), agent: ADA }, write: "ok", read: "ok" },
  { caller: ADMIN, ref: { key: key("T") }, write: "ok", read: "ok" },
  { caller: ADMIN, ref: { key: key("T"), agent: ADA }, write: "ok", read: "ok" },
  { caller: ADMIN, ref: { key: key("FLEETCTL_HOST_OP_SECRET") }, write: "ok", read: "ok" },
  {
    caller: ADMIN,
    ref: { key: key("FLEETCTL_HOST_OP_SECRET"), agent: BEA },
    write: "key-misplaced",
    read: "ok",
  },
  { caller: AGENT, ref: { key: key("T"), agent: ADA }, write: "ok", read: "ok" },
  {
    caller: AGENT,
    ref: { key: key("T") },
    write: "shared-shard-denied",
    read: "agent-shard-denied",
  },
  {
    caller: AGENT,
    ref: { key: key("T"), agent: BEA },
    write: "agent-shard-denied",
    read: "agent-shard-denied",
  },
  {
    caller: AGENT,
    ref: { key: key("FLEETCTL_HOST_OP_GRANT_SECRET"), agent: ADA },
    write: "key-misplaced",
    read: "host-key-denied",
  },
  {
    caller: AGENT,
    ref: { key: key("WEBVIEW_HMAC_KEY"), agent: ADA },
    write: "key-misplaced",
    read: "host-key-denied",
  },
  {
    caller: NOBODY,
    ref: { key: key("T"), agent: ADA },
    write: "agent-shard-denied",
    read: "agent-shard-denied",
  },
  {
    caller: NOBODY,
    ref: { key: key("T") },
    write: "shared-shard-denied",
    read: "agent-shard-denied",
  },
];

for (const { caller, ref, write, read } of PLACES) {
  const who = caller.agent ?? (caller.isOperator ? "root" : "nobody");
  const where = `${ref.agent ?? "shared"}.${ref.key}`;
  Deno.test(`decidePlacement() and decideReading() decide about ${who} at ${where}`, () => {
    const results = [decidePlacement(caller, ref), decideReading(caller, ref)];
    assert.deepEqual(results.map((result) => result.ok ? "ok" : result.error.code), [write, read]);
  });
}

Deno.test("decidePlacement() names the command to use instead", () => {
  const mia = { isOperator: false, agent: "mia" as AgentName };
  const denied = decidePlacement(mia, { key: key("NOTES_TOKEN") });
  assert(!denied.ok);
  assert.deepEqual([denied.error.kind, denied.error.message, ...denied.error.hints], [
    "denied",
    'Cannot set "NOTES_TOKEN" for the whole host as agent "mia": shared and host secrets are ' +
    "operator-only",
    "fleetctl secret set NOTES_TOKEN --agent self",
  ]);
});

Deno.test("renderSecretEnv() gives each file the documented owner, mode and keys", () => {
  const store = shards({
    SHARED: "s",
    FLEETCTL_HOST_OP_SECRET: "never",
    FLEETCTL_HOST_OP_GRANT_SECRET: "never",
    WEBVIEW_HMAC_KEY: "never",
    TEAMS_APP_PASSWORD: "never",
    "ada.TOKEN": "a b",
    "bea.TOKEN": "other",
    "ada.FLEETCTL_HOST_OP_SECRET": "never",
  });
  const environment = { CHANNEL_USER_EMAIL: "ada@example.org" };
  const files = renderSecretEnv(
    store,
    [{ name: ADA, environment }, { name: "cal" as AgentName }],
    PATHS,
  );
  const header = "# Rendered by fleetctl from the secret store; edits are lost.\n";
  assert.deepEqual(files, [
    {
      path: "/etc/fleetctl/env/mcp-shared.env",
      content: `${header}SHARED=s\n`,
      mode: 0o640,
      owner: { user: "root", group: "agents" },
      secret: true,
    },
    {
      path: "/etc/fleetctl/env/agent-ada.env",
      content: `${header}CHANNEL_USER_EMAIL=ada@example.org\nTOKEN="a b"\n`,
      mode: 0o640,
      owner: { user: "root", group: "ada" },
      secret: true,
    },
    {
      path: "/etc/fleetctl/env/agent-cal.env",
      content: header,
      mode: 0o640,
      owner: { user: "root", group: "cal" },
      secret: true,
    },
  ]);
});

Deno.test("renderSecretEnv() renders every value so that it reads back the same", () => {
  fc.assert(fc.property(stores, (store) => {
    for (const file of renderSecretEnv(store, [{ name: ADA }], PATHS)) {
      const read = parseEnvFile(file.content);
      assert(read.ok, read.ok ? "" : read.error.details.join());
      const shard = file.path.endsWith("agent-ada.env")
        ? store.agents.get(ADA) ?? new Map()
        : store.shared;
      assert.deepEqual(new Map([...read.value].sort()), new Map([...shard].sort()));
    }
  }));
});

Deno.test("renderHostOpKeys() is for root alone and never renders an empty key", () => {
  const both = shards({ FLEETCTL_HOST_OP_SECRET: "a", FLEETCTL_HOST_OP_GRANT_SECRET: "b" });
  const file = renderHostOpKeys(both, PATHS, ATLAS);
  assert(file.ok);
  assert.deepEqual([file.value.path, file.value.mode, file.value.owner, file.value.secret], [
    "/etc/fleetctl/host-op.env",
    0o600,
    { user: "root", group: "root" },
    true,
  ]);
  assert.match(
    file.value.content,
    /\nFLEETCTL_HOST_OP_GRANT_SECRET=b\nFLEETCTL_HOST_OP_SECRET=a\n$/,
  );
  const none = renderHostOpKeys(shards({ FLEETCTL_HOST_OP_SECRET: "a" }), PATHS, ATLAS);
  assert.equal(none.ok ? "" : none.error.code, "hmac-key-unreadable");
});

Deno.test("requireRoleKey() keeps the old file when the key is empty", () => {
  const at = { file: "/etc/fleetctl/env/webview-login.env", hostname: ATLAS };
  assert.deepEqual(requireRoleKey(shards({ WEBVIEW_HMAC_KEY: "k" }), "WEBVIEW_HMAC_KEY", at), {
    ok: true,
    value: "k",
  });
  for (const store of [NO_SECRETS, shards({ WEBVIEW_HMAC_KEY: "" })]) {
    const refused = requireRoleKey(store, "WEBVIEW_HMAC_KEY", at);
    assert(!refused.ok);
    assert.deepEqual([refused.error.code, refused.error.message, ...refused.error.hints], [
      "hmac-key-unreadable",
      'Cannot write "/etc/fleetctl/env/webview-login.env": WEBVIEW_HMAC_KEY is missing or empty, ' +
      'so the secret store is not readable on host "atlas"; kept the old file',
      "fleetctl secret list",
    ]);
  }
});
