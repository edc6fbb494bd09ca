/**
 * Every verb of the table, run once by root on a host, with its effects checked there. A verb that
 * neither a row nor an earlier step has run fails the test.
 *
 * @module
 */

import assert from "node:assert/strict";
import { matchVerb, VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { npmRegistry } from "tests/fakes/npm_registry.ts";
import { registryInside } from "tests/support/host_registry.ts";
import type { DaemonScene } from "tests/system/daemon/scene.ts";

/** One command line as an operator types it after `fleetctl`, and its effect. */
interface Effect {
  readonly line: string;
  /** The output that it prints. */
  readonly says?: RegExp;
  /** A shell command that inspects the host afterwards, and its expected output. */
  readonly seen?: readonly [command: string, prints: RegExp];
  /** A shell command that runs before it. */
  readonly first?: string;
  /** The exit code; 0 when absent. */
  readonly code?: number;
}

const REPOSITORY = "/home/eve/workspace/effects";
const MAKE_REPOSITORY = `runuser -u eve -- sh -c "git init -q ${REPOSITORY} && ` +
  `cd ${REPOSITORY} && git -c user.name=A -c user.email=a@example.org commit -q --allow-empty ` +
  `-m 'for effects'"`;
const LEDGER = "/var/lib/fleetctl/repo";
const EVE = `cat ${LEDGER}/agents.d/eve.yaml`;
const DIAL_EVE = "systemctl show -p ActiveState --value fleetctl-dial-eve.service";
const EVE_ENV = "cat /etc/fleetctl/env/agent-eve.env";
const DIAL_UNIT = "/etc/systemd/system/fleetctl-dial-eve.service";
const UNITS = "ls /etc/systemd/system";
const KEYS = "tr -d ' \\n' < /etc/fleetctl/dial-keys.json";
const OWN_KEY = String.raw`sed -n 's/.*"public": *"\([^"]*\)".*/\1/p' ` +
  "/home/eve/.fleetctl/dial/key.json";
const PUBLIC_KEY = "A".repeat(43);
const GIT_LOG = `--args '{"path":"${REPOSITORY}","maxCount":1}'`;
const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });
const WIPE = tool("wipe_page", "Wipes a page");
const PACKAGES = [
  serverPackage({ name: "@acme/wiki", version: "1.0.0", tools: [READ] }),
  serverPackage({ name: "@acme/wiki", version: "1.1.0", tools: [READ, WIPE] }),
];
const REMOTE = { type: "streamable-http", url: "https://pages.example.org/mcp" };
const SERVER_JSON = JSON.stringify({
  name: "org.example/pages",
  description: "Pages",
  version: "1.0.0",
  remotes: [REMOTE],
});
const ACTIVITY = JSON.stringify({
  type: "message",
  id: "1",
  channelId: "msteams",
  text: "hello",
  serviceUrl: "https://smba.trafficmanager.net/teams/",
  from: { id: "29:o", aadObjectId: "00000000-0000-4000-8000-0000000000be" },
  recipient: { id: "28:b" },
  conversation: { id: "a:o", conversationType: "personal" },
});

/** Changes with each start of the gateway. */
const GATEWAY_START = "systemctl show -p InvocationID,ActiveState fleetctl-gateway.service";

const AGENTS: readonly Effect[] = [
  {
    first: `${GATEWAY_START} > /srv/gateway-start`,
    line: "agents add eve --channel webview --user-email eve@example.org",
    seen: ["getent passwd eve; id -nG eve", /:\/home\/eve:[^]*agents/],
  },
  { line: "agents list", says: /^eve +webview/m },
  { line: "agents show eve", says: /eve@example\.org/ },
  { line: "agents set eve --owner-email o@example.org", seen: [EVE, /owner_email: o@example/] },
  { line: "agents set eve --ceiling day=200k-tokens", seen: [EVE, /ceiling/] },
  {
    line: "agents set eve --admin yes --yes",
    says: /from now on/,
    seen: ["runuser -u eve -- fleetctl agents list", /^ada [^]*^eve \(admin\)/m],
  },
  {
    line: "agents set eve --admin no",
    seen: ["runuser -u eve -- fleetctl agents set eve --owner-email x@y.org; echo $?", /^4$/m],
  },
  {
    line: "agents model set eve --provider openai-compatible --model large-9 --no-key --no-check " +
      "--base-url http://127.0.0.1:9/v1",
    seen: [`${EVE_ENV} ${DIAL_UNIT}`, /large-9/],
  },
  { line: "agents model show eve", says: /127\.0\.0\.1:9/ },
  { line: "agents stop eve", seen: [DIAL_EVE, /^inactive$/m] },
  { line: "agents start eve", seen: [DIAL_EVE, /^active$/m] },
  {
    first: "systemctl show -p InvocationID fleetctl-dial-eve.service > /srv/before",
    line: "agents restart eve",
    seen: [
      "systemctl show -p InvocationID fleetctl-dial-eve.service | cmp - /srv/before; echo $?",
      /^1$/m,
    ],
  },
  { line: "agents key revoke eve", seen: [KEYS, /"eve":\[\]/] },
  { line: `agents key enroll eve $(${OWN_KEY})`, seen: [KEYS, /"eve":\["[\w-]{43}"\]/] },
  { line: "agents key list eve", says: /^eve +enrolled/m },
  {
    line: "logs eve --lines 500",
    says: /"event":"ready"/,
    // None of these verbs restarted the gateway.
    seen: [`${GATEWAY_START} | cmp - /srv/gateway-start && cat /srv/gateway-start`, /=active$/m],
  },
];

const HOST: readonly Effect[] = [
  { line: "access explain ada -- secret get K --agent self", says: /own agent/ },
  { line: "audit list --limit 5", says: /agents key list/ },
  { line: "apply", says: /^unchanged +\d+ files$/m },
  { line: "completion bash", says: /complete .*fleetctl/ },
  { line: "help mcp add", says: /fleetctl mcp add git self/ },
  {
    // Agents that the rows above restarted reconnect after a delay.
    first: "timeout 60 sh -c 'until fleetctl doctor > /dev/null 2>&1; do :; done'",
    line: "doctor",
    says: /setting/,
  },
  {
    first: "cd /var/log/fleetctl && echo x > fleetctl-dial-gone.service.log && " +
      "touch -d '60 days ago' fleetctl-dial-gone.service.log",
    line: "gc",
    seen: ["ls /var/log/fleetctl", /^(?![^]*gone)/],
  },
  { line: "status", says: /^ada /m },
  { line: "usage", says: /^ada +\d/m },
  // tests/system/limits_test.ts reaches a ceiling.
  { line: "ceilings list", says: /^eve .*200/m },
  { line: "ceilings allow eve day=100k-tokens", seen: ["fleetctl ceilings list", /^eve .*300/m] },
  // tests/system/limits_test.ts reaches the ceiling of the host.
  {
    line: "ceilings host set day=9m-tokens",
    seen: ["fleetctl ceilings list", /^\(all agents\) .*9,000,000 tokens/m],
  },
  {
    line: "ceilings host allow day=1m-tokens",
    seen: ["fleetctl ceilings list", /^\(all agents\) .*10,000,000 tokens/m],
  },
  { line: "ceilings host sum", says: /^\(all agents\) +day/m },
  { line: "ceilings host set ''", says: /This host has no spend ceiling/ },
  // tests/system/claude_code_test.ts answers and declines real questions on a host.
  { line: "questions list", says: /No question waits for a person/ },
  { line: "questions show 0123abcd", code: 1 },
  { line: "questions answer 0123abcd --accept", code: 1 },
  { line: "questions decline 0123abcd", code: 1 },
  {
    first: "mkdir -p /srv/up/var/lib/fleetctl && " +
      "cp -a /var/lib/fleetctl/vendor-cache /srv/up/var/lib/fleetctl/",
    line: "up --root /srv/up --port-base 20000 --turn 'what can you do'",
    says: /^ada: /m,
  },
  { line: "host set teams_gateway boreas", seen: ["cat /etc/fleetctl/host.yaml", /boreas/] },
  { line: "host list", says: /teams_gateway +boreas/ },
  { line: "host unset teams_gateway", seen: ["cat /etc/fleetctl/host.yaml", /^(?![^]*boreas)/] },
  { line: `host key enroll boreas ${PUBLIC_KEY}`, seen: [KEYS, /"host:boreas":\["A{43}"\]/] },
  { line: "host key list", says: /boreas +enrolled/ },
  { line: "host key revoke boreas", seen: [KEYS, /"host:boreas":\[\]/] },
];

const ROLE_VERBS: readonly Effect[] = [
  { line: "webview-gateway status", says: /ada@example\.org/ },
  {
    first: "fleetctl secret set WEBVIEW_BASIC_USERS --value mia@example.org:sesame-sesame",
    line: "webview-login install --driver basic --listen 127.0.0.1:8736",
    seen: ["systemctl is-active fleetctl-login.service", /^active$/m],
  },
  { line: "webview-login status", says: /driver +basic/ },
  { line: "webview-login doctor --public-url https://127.0.0.1:1", code: 1 },
  {
    first: "curl -sS -o /dev/null -u mia@example.org:sesame-sesame --retry 20 " +
      "--retry-connrefused --retry-delay 1 http://127.0.0.1:8736/",
    line: "webview-login sessions list",
    says: /sessions/,
  },
  { line: "webview-login sessions end mia@example.org", says: /mia@example\.org/ },
  {
    first: "echo another-sesame > /srv/password",
    line: "webview-login users set zed@example.org --password - < /srv/password",
    seen: ["fleetctl secret get WEBVIEW_BASIC_USERS", /zed@example\.org:/],
  },
  { line: "webview-login users list", says: /^zed@example\.org /m },
  {
    line: "webview-login users remove zed@example.org",
    seen: ["fleetctl secret get WEBVIEW_BASIC_USERS", /^(?![^]*zed@)/],
  },
  {
    first: "fleetctl webview-login install --url https://cockpit.example",
    line: "webview-login front nginx",
    says: /proxy_pass http:\/\/127\.0\.0\.1:8736/,
  },
  { line: "webview-login pins list", says: /No address is pinned/ },
  { line: "webview-login pins clear mia@example.org", says: /mia@example\.org/ },
  {
    line: "teams-gateway install --register-listen 127.0.0.2:3978",
    seen: ["systemctl is-active fleetctl-teamchat.service", /^active$/m],
  },
  // No agent uses team chat here, and both report that.
  { line: "teams-gateway status", code: 1, says: /fleetctl-teamchat\.service active/ },
  { line: "teams-gateway doctor", code: 1, says: /no message from the platform/ },
  {
    first: `echo '${ACTIVITY}' > /srv/activity.json`,
    line: "teams-gateway explain /srv/activity.json",
    says: /the token of this activity is assumed to be valid/,
  },
  { line: "teams-gateway remove", seen: [UNITS, /^(?![^]*fleetctl-teamchat)/] },
  { line: "webview-login remove", seen: [UNITS, /^(?![^]*fleetctl-login)/] },
  { line: "webview-gateway remove", seen: [UNITS, /^(?![^]*fleetctl-gateway)/] },
  { line: "webview-gateway install", seen: ["systemctl is-active fleetctl-gateway", /^active$/m] },
];

const STORE: readonly Effect[] = [
  { line: "secret set K --value word-1 --agent eve", seen: [EVE_ENV, /word-1/] },
  { line: "secret get K --agent eve", says: /^word-1$/m },
  { line: "secret list", says: /^K +agents\.eve /m },
  { line: "secret unset K --agent eve", seen: [EVE_ENV, /^(?![^]*word-1)/] },
  {
    first: "sha256sum /etc/fleetctl/host-op.env > /srv/before",
    line: "secret rotate host-op",
    seen: ["sha256sum /etc/fleetctl/host-op.env | cmp - /srv/before; echo $?", /^1$/m],
  },
  { line: "secret rewrap", says: /readers/ },
  {
    line: "secret recovery add > /srv/recovery.key && cat /srv/recovery.key",
    says: /^AGE-SECRET-KEY-1/m,
  },
  {
    line: "secret recovery copy > /srv/fleet.age",
    seen: ["head -c 21 /srv/fleet.age", /^-----BEGIN AGE/],
  },
  {
    first: "rm /etc/fleetctl/host.key",
    line: "secret recover --key - < /srv/recovery.key",
    seen: ["stat -c '%a %U' /etc/fleetctl/host.key", /^600 root$/m],
  },
  { line: "agents set eve --owner-email x@example.org" },
  { line: "ledger log --limit 1", says: /root +agents set: / },
  {
    line: "ledger revert $(git -C /var/lib/fleetctl/repo rev-parse --short=12 HEAD)",
    seen: [EVE, /owner_email: o@example/],
  },
];

const MCPS: readonly Effect[] = [
  { line: "defaults add tools git", seen: ["cat /etc/fleetctl/defaults.yaml", /git/] },
  { line: "defaults list tools", says: /^every agent of this host +git$/m },
  { line: "defaults remove tools git", seen: ["cat /etc/fleetctl/defaults.yaml", /^(?![^]*git)/] },
  { line: "mcp add git eve", seen: ["stat -c '%a %U' /run/mcp/git-eve.sock", /^600 eve$/m] },
  { line: "mcp wired ada", says: /^git .* live$/m },
  {
    first: MAKE_REPOSITORY,
    line: `mcp read git git_log eve ${GIT_LOG}`,
    says: /for effects/,
  },
  { line: `mcp call git git_log eve ${GIT_LOG}`, says: /for effects/ },
  { line: "mcp doctor git ada", says: /^handshake +ok/m },
  { line: "mcp remove git eve", seen: ["ls /run/mcp", /^(?![^]*git-eve)/] },
];

const CATALOG: readonly Effect[] = [
  { line: "mcp catalog browse git", says: /source/ },
  { line: "mcp catalog add wiki --npm @acme/wiki@1.0.0", says: /tools {2}1: read_page/ },
  { line: "mcp catalog list", says: /^wiki +1\.0\.0/m },
  { line: "mcp catalog upgrade wiki --to 1.1.0", says: /new-tool +wipe_page/ },
  { line: "mcp catalog review wiki", says: /wipe_page/ },
  { line: "mcp catalog rollback wiki", seen: ["fleetctl mcp catalog list", /^wiki +1\.0\.0/m] },
  { line: "mcp catalog remove wiki", seen: ["fleetctl mcp catalog list", /^(?![^]*wiki)/] },
  {
    first: `echo '${SERVER_JSON}' > /srv/server.json`,
    line: "mcp catalog import /srv/server.json --name pages",
    seen: ["fleetctl mcp catalog browse pages", /pages\.example\.org/],
  },
  { line: "agents remove eve --yes", seen: ["ls /etc/systemd/system", /^(?![^]*dial-eve)/] },
];

const WITHOUT_REGISTRY = [...AGENTS, ...HOST, ...ROLE_VERBS, ...STORE, ...MCPS];
const ALL = [...WITHOUT_REGISTRY, ...CATALOG];

/** Runs every row; `since` is the last row of the audit before verbs ran for real. */
export async function everyEffect(scene: DaemonScene, since: number): Promise<void> {
  const rows = await scene.audit();
  const ran = new Set(ALL.map(({ line }) => verbOf(line)));
  for (const { id, verb, exit } of rows) if (id > since && exit === "0") ran.add(verb);
  const missing = VERBS.filter(({ later }) => later !== true).map(verbName)
    .filter((verb) => !ran.has(verb));
  assert.deepEqual(missing, [], "verbs that no row and no step runs on a host");
  for (const effect of WITHOUT_REGISTRY) await runEffect(scene, effect);
  await using packages = await npmRegistry(PACKAGES);
  await using registry = await registryInside(scene.host, packages.url, 4873);
  const settings = `${scene.host.root}/etc/fleetctl/env/registry.env`;
  await Deno.writeTextFile(settings, `NPM_CONFIG_REGISTRY=${registry.url}\n`, { mode: 0o600 });
  for (const effect of CATALOG) await runEffect(scene, effect);
  await Deno.remove(settings);
}

async function runEffect(
  scene: DaemonScene,
  { line, says, seen, first, code = 0 }: Effect,
): Promise<void> {
  const shell = (command: string) => scene.run(["sh", "-c", command]);
  if (first !== undefined) {
    const before = await shell(first);
    assert.equal(before.code, 0, `before ${line}: ${before.out}${before.err}`);
  }
  const ended = await shell(`fleetctl ${line}`);
  assert.equal(ended.code, code, `${line}\n${ended.out}${ended.err}`);
  if (says !== undefined) assert.match(ended.out, says, `${line}\n${ended.out}${ended.err}`);
  if (seen === undefined) return;
  const found = await shell(seen[0]);
  assert.match(found.out, seen[1], `after ${line}: ${seen[0]}\n${found.out}${found.err}`);
}

function verbOf(line: string): string {
  const verb = matchVerb(line.split(" "));
  assert.ok(verb !== undefined, line);
  return verbName(verb);
}
