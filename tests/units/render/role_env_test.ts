/**
 * Env files of roles and agents, and the enrolled keys.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseEnvFile } from "core/text/env_file.ts";
import type { AgentName, Email } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import type { RenderedFile } from "core/files/rendered_file.ts";
import type { Result } from "core/result.ts";
import { agent } from "tests/units/reconcile/fixture.ts";
import { renderDialKeys } from "units/render/roles/dial_keys.ts";
import { renderAgentEnv, renderGatewayEnv } from "units/render/roles/role_env.ts";

const paths = pathsUnder("/");
const GATEWAY = {
  cockpitListen: "127.0.0.1:8731",
  dialListen: "0.0.0.0:8735",
  rosterJson: '{"ledger":{"o\'brien@example.org":"ada"},"admins":[]}\n',
  trust: "assertion",
  assertionKey: 'a$b"c',
} as const;

function values(file: Result<RenderedFile>): Readonly<Record<string, string>> {
  assert.ok(file.ok, file.ok ? "" : file.error.message);
  const parsed = parseEnvFile(file.value.content);
  assert.ok(parsed.ok);
  return Object.fromEntries(parsed.value);
}

Deno.test("renderGatewayEnv() emits every setting, and the path of the roster", () => {
  const file = renderGatewayEnv(
    { ...GATEWAY, settings: { WEBVIEW_DIAL_REQUIRE_KEY: "true" } },
    paths,
  );
  assert.deepEqual(values(file), {
    WEBVIEW_COCKPIT_LISTEN: "127.0.0.1:8731",
    WEBVIEW_DIAL_LISTEN: "0.0.0.0:8735",
    WEBVIEW_LEDGER: "/etc/fleetctl/webview-ledger.json",
    WEBVIEW_ADMINS: "/etc/fleetctl/webview-ledger.json",
    WEBVIEW_TRUST: "assertion",
    WEBVIEW_ASSERTION_KEY: 'a$b"c',
    WEBVIEW_DIAL_REQUIRE_KEY: "true",
  });
  assert.deepEqual(file.ok && [file.value.mode, file.value.owner, file.value.secret], [
    0o640,
    { user: "root", group: "fleetctl-gateway" },
    true,
  ]);
});

Deno.test("renderGatewayEnv() refuses to write an empty assertion key", () => {
  const { assertionKey: _, ...without } = GATEWAY;
  for (const given of [without, { ...GATEWAY, assertionKey: "" }]) {
    const file = renderGatewayEnv(given, paths);
    assert.equal(file.ok ? "" : file.error.code, "assertion-key-missing");
  }
  const header = values(renderGatewayEnv({ ...without, trust: "header" }, paths));
  assert.equal(header["WEBVIEW_ASSERTION_KEY"], undefined);
});

function secretFile(content: string): RenderedFile {
  return {
    path: paths.agentEnv("ada"),
    content,
    mode: 0o640,
    owner: { user: "root", group: "ada" },
    secret: true,
  };
}
const SITE = { paths, registerUrl: "ws://gate:8735" };

Deno.test("renderAgentEnv() adds the channel to the agent's keys", () => {
  const file = renderAgentEnv(agent("ada"), secretFile("TOKEN=t\n"), SITE);
  assert.deepEqual(values(file), {
    TOKEN: "t",
    CHANNEL_USER_EMAIL: "ada@example.org",
    CHANNEL_WEBVIEW_GATEWAY_URL: "ws://gate:8735",
  });
  assert.deepEqual(file.ok && [file.value.mode, file.value.owner], [
    0o640,
    { user: "root", group: "ada" },
  ]);
});

Deno.test("renderAgentEnv() lets no key of an agent change who its owner is", () => {
  const forged = secretFile("CHANNEL_USER_EMAIL=eve@example.org\n");
  assert.equal(
    values(renderAgentEnv(agent("ada"), forged, SITE))["CHANNEL_USER_EMAIL"],
    "ada@example.org",
  );
  const { userEmail: _, ...nameless } = agent("ada", { userEmail: "x@y.z" as Email });
  assert.equal(values(renderAgentEnv(nameless, forged, SITE))["CHANNEL_USER_EMAIL"], undefined);
});

Deno.test("renderAgentEnv() returns the file unchanged when it is already complete", () => {
  const whole = secretFile(
    "# kept\nCHANNEL_WEBVIEW_GATEWAY_URL=ws://gate:8735\nCHANNEL_USER_EMAIL=ada@example.org\nT=1\n",
  );
  const file = renderAgentEnv(agent("ada"), whole, SITE);
  assert.ok(file.ok && file.value.content === whole.content);
});

Deno.test("renderDialKeys() lists agents in order, those without a key left as empty", () => {
  const file = renderDialKeys(
    new Map([["zed", ["k2", "k3"]], ["ada", ["k1"]], ["bea", []]] as [AgentName, string[]][]),
    paths,
  );
  assert.equal(file.path, "/etc/fleetctl/dial-keys.json");
  assert.deepEqual(Object.entries(JSON.parse(file.content)), [
    ["ada", ["k1"]],
    ["bea", []],
    ["zed", ["k2", "k3"]],
  ]);
});
