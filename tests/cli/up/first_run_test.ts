/**
 * What `up` writes into `roles.yaml`, and above all which content of a person or a verb it keeps.
 *
 * @module
 */

import assert from "node:assert/strict";
import { writeRoles } from "cli/up/first_run.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";

const PATHS = pathsUnder("/r");
const WRITTEN = `# Ours: ask the network team before a port changes.
gateway:
  cockpit_listen: 127.0.0.1:1
  dial_listen: 127.0.0.1:2
  trust: header
  agent_storage_mib: 512 # two big repositories
  events_days: 30
login:
  listen: 127.0.0.1:3
  driver: oidc
  settings:
    WEBVIEW_URL: https://cockpit.example
    WEBVIEW_OIDC_ISSUER: https://idp.example
    WEBVIEW_OIDC_CLIENT_ID: cockpit
  provider_hosts: [keys.example:443]
teamchat:
  listen: 127.0.0.1:4
  register_listen: 127.0.0.1:5
  cloud: gcchigh
  file_hosts: files.example
`;
type Up = Parameters<typeof writeRoles>[2];

Deno.test("writeRoles() moves the listeners and keeps every other setting", async () => {
  const { files } = memoryHost({ files: { [PATHS.rolesFile]: WRITTEN } });
  const before = parseHostRoles(WRITTEN, "roles.yaml");
  assert.ok(before.ok, JSON.stringify(before));
  const up = {
    options: { listen: "127.0.0.1", workdir: undefined },
    ports: { cockpit: 11, dial: 12, login: 13, teamchat: 14 },
    project: "/srv/project",
  } as unknown as Up;
  const written = await writeRoles({ files }, PATHS, up);
  assert.ok(written.ok, JSON.stringify(written));
  const read = parseHostRoles(await files.readText(PATHS.rolesFile), PATHS.rolesFile);
  assert.deepEqual(read, written);
  const { gateway, login, teamchat } = written.value;
  const was = before.value;
  assert.deepEqual(gateway, {
    ...was.gateway,
    cockpitListen: "127.0.0.1:11",
    dialListen: "127.0.0.1:12",
  });
  assert.deepEqual(login, { ...was.login, listen: "127.0.0.1:13" });
  assert.deepEqual(teamchat, {
    ...was.teamchat,
    listen: "127.0.0.1:14",
    registerListen: "127.0.0.1:14",
  });
  const text = await files.readText(PATHS.rolesFile) ?? "";
  assert.match(text, /^# Ours: ask the network team before a port changes\.$/m);
  assert.match(text, /^ {2}agent_storage_mib: 512 # two big repositories$/m);
});
