/**
 * Rendered units against both service managers: systemd's own checker finds no fault, the embedded
 * manager accepts every key, and the exposure that systemd computes does not grow unnoticed.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readUnitSpec } from "units/manager/units/unit_spec.ts";
import { readWords } from "units/manager/units/words.ts";
import { parseUnit, printUnit, unitValue, unitValues } from "core/text/unit_file.ts";
import { agent, facts, manifest } from "tests/units/reconcile/fixture.ts";
import { desire } from "units/reconcile/desired.ts";
import { serverCommand } from "units/render/mcp/command.ts";
import { renderMcpService } from "units/render/mcp/service.ts";
import { renderMcpSocket } from "units/render/mcp/socket.ts";
import { renderDial } from "units/render/roles/dial.ts";
import { type AgentRecord, ASK_MODES } from "core/ledger/agent.ts";
import type { AgentName, McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";

const ANALYZE = "/usr/bin/systemd-analyze";
const hasAnalyze = await Deno.stat(ANALYZE).then(() => true, () => false);
const ALL = { ada: ["git", "notes", "maps", "code-host", "agent-message"] };
const paths = pathsUnder("/");
const ada = "ada" as AgentName;

/**
 * Highest exposure of each unit as `systemd-analyze security` computes it; 10 means no protection.
 * No unit may be above 4.0. The list omits a shared server whose manifest says `run_as: root`: it
 * waives the sandbox, and `fleetctl doctor` names it.
 */
const EXPOSURE: Readonly<Record<string, number>> = {
  "fleetctl-gateway.service": 1.7,
  "fleetctl-login.service": 1.7,
  "fleetctl-teamchat.service": 1.7,
  "fleetctl-host.service": 1.7,
  // A shared server, and one of an agent that Deno confines.
  "mcp-notes@.service": 1.7,
  "mcp-code-host-ada@.service": 1.9,
  // Starts programs with their own sandbox, so namespaces and their system calls stay allowed.
  "mcp-git-ada@.service": 2.9,
  // The agent works on the host as its Unix user: files, network and namespaces stay allowed.
  "fleetctl-dial-ada.service": 3.4,
  // Runs whole verbs as root: it needs files of every owner, and must switch to an agent's uid.
  "fleetctl-daemon.service": 3.4,
};
/** The dial unit of an agent whose commands mount their own `/proc`. */
const EXPOSURE_WITH_SANDBOX = 3.7;
const EXPOSURE_MAX = 4;

async function analyze(folder: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(ANALYZE, {
    args: [...args],
    cwd: folder,
    env: { SYSTEMD_COLORS: "0", LC_ALL: "C" },
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, text: `${decode(stdout)}${decode(stderr)}` };
}

async function exposureOf(folder: string, unit: string): Promise<number> {
  const { text } = await analyze(folder, "security", "--offline=yes", "--no-pager", `./${unit}`);
  return Number(/Overall exposure level for .*: ([\d.]+)/.exec(text)?.[1]);
}

/** Renders every unit into a folder, with launchers, laid out as systemd expects them. */
async function withUnits(work: (folder: string, units: readonly string[]) => Promise<void>) {
  const root = await Deno.makeTempDir();
  try {
    const given = facts(ALL, { root });
    await Deno.mkdir(given.paths.units, { recursive: true });
    await Deno.mkdir(given.paths.lib, { recursive: true });
    await Deno.mkdir(given.paths.home("ada"), { recursive: true });
    const files = desire(given).files.map(({ file }) => file);
    for (const file of files) {
      const isProgram = file.path.startsWith(given.paths.lib);
      if (!isProgram && !file.path.startsWith(given.paths.units)) continue;
      await Deno.writeTextFile(file.path, file.content, { mode: file.mode });
    }
    const names = [...Deno.readDirSync(given.paths.units)].map((entry) => entry.name).sort();
    await work(given.paths.units, names);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test({
  name: "systemd-analyze verify finds nothing wrong with any rendered unit",
  ignore: !hasAnalyze,
  fn: () =>
    withUnits(async (folder, units) => {
      assert.ok(units.length >= 11);
      const { code, text } = await analyze(
        folder,
        "verify",
        "--man=no",
        ...units.map((unit) => `./${unit}`),
      );
      assert.equal(text, "");
      assert.equal(code, 0);
    }),
});

Deno.test({
  name: "systemd-analyze security finds no unit more exposed than recorded",
  ignore: !hasAnalyze,
  fn: () =>
    withUnits(async (folder, units) => {
      const found: Record<string, number> = {};
      for (const unit of Object.keys(EXPOSURE)) found[unit] = await exposureOf(folder, unit);
      for (const [unit, limit] of Object.entries(EXPOSURE)) {
        assert.ok((found[unit] ?? NaN) <= limit, `${unit}: ${found[unit]} is more than ${limit}`);
      }
      const services = units.filter((unit) => unit.endsWith(".service"));
      for (const unit of services.filter((name) => EXPOSURE[name] === undefined)) {
        const score = await exposureOf(folder, unit);
        assert.ok(score <= EXPOSURE_MAX, `${unit}: ${score} is more than ${EXPOSURE_MAX}`);
      }
    }),
});

Deno.test({
  name: "systemd-analyze security finds a unit with a sandbox no more exposed than recorded",
  ignore: !hasAnalyze,
  fn: () =>
    withUnits(async (folder) => {
      const unit = renderDial(agent("ada", { sandbox: "on" }), {
        paths,
        registerUrl: "ws://127.0.0.1:8735",
        workspace: "/srv/project",
        settings: {},
      });
      await Deno.writeTextFile(`${folder}/${unit.name}`, printUnit(unit));
      const found = await exposureOf(folder, unit.name);
      assert.ok(found <= EXPOSURE_WITH_SANDBOX, `${found} is more than ${EXPOSURE_WITH_SANDBOX}`);
    }),
});

Deno.test("every key that confines a unit has its reason above it", () => {
  const CONFINES = /^(Protect|Private|Restrict|NoNewPrivileges|Capability|Ambient|SystemCall|Lock)/;
  for (const { file } of desire(facts(ALL)).files) {
    if (!file.path.endsWith(".service")) continue;
    const lines = file.content.split("\n");
    for (const [at, line] of lines.entries()) {
      if (CONFINES.test(line)) assert.match(lines[at - 1] ?? "", /^# ./, `${file.path}: ${line}`);
    }
  }
});

Deno.test("the embedded manager accepts every rendered unit", () => {
  const units = desire(facts(ALL)).files.filter(({ file }) => file.path.includes("/systemd/"));
  assert.ok(units.length >= 11);
  for (const { file } of units) {
    const unit = parseUnit(file.path, file.content);
    assert.ok(unit.ok);
    const name = (file.path.split("/").at(-1) ?? "").replace("@.", "@0.");
    const spec = readUnitSpec(unit.value, name, {
      at: (path) => `/r${path}`,
      credentials: () => "/r/run/credentials",
    });
    assert.deepEqual(spec.ok ? [] : spec.error, [], name);
  }
});

Deno.test("renderMcpSocket() makes a socket for all, or one for an agent", () => {
  const git = renderMcpSocket(manifest("git"), ada, paths);
  const notes = renderMcpSocket(manifest("notes", { sharing: "shared" }), undefined, paths);
  const row = (unit: typeof git) =>
    ["ListenStream", "SocketMode", "SocketUser", "SocketGroup"].map((key) =>
      unitValue(unit, "Socket", key)
    );
  assert.deepEqual([git.name, ...row(git)], [
    "mcp-git-ada.socket",
    "/run/mcp/git-ada.sock",
    "0600",
    "ada",
    "ada",
  ]);
  assert.deepEqual([notes.name, ...row(notes)], [
    "mcp-notes.socket",
    "/run/mcp/notes.sock",
    "0660",
    "root",
    "agents",
  ]);
});

const AGENT_ENV = "/etc/fleetctl/env/agent-ada.env";
const SHARED_ENV = "/etc/fleetctl/env/mcp-shared.env";
const ENV_ROWS = [
  { sharing: "per_user", auth: "none", want: [AGENT_ENV] },
  { sharing: "per_user", auth: "oauth", want: [AGENT_ENV] },
  { sharing: "per_user", auth: "env", want: [SHARED_ENV, AGENT_ENV] },
  { sharing: "shared", auth: "none", want: [] },
  { sharing: "shared", auth: "env", want: [SHARED_ENV] },
] as const;
for (const row of ENV_ROWS) {
  Deno.test(`renderMcpService() reads env files: ${row.sharing} MCP, auth ${row.auth}`, () => {
    const agent = row.sharing === "per_user" ? ada : undefined;
    const unit = renderMcpService(manifest("x", { sharing: row.sharing, auth: row.auth }), {
      paths,
      agent,
      workdir: "/",
      closed: [],
    });
    assert.deepEqual(unitValues(unit, "Service", "EnvironmentFile"), row.want);
    assert.equal(unitValue(unit, "Service", "User"), agent);
    assert.equal(
      unitValue(unit, "Service", "DynamicUser"),
      agent === undefined ? "yes" : undefined,
    );
  });
}

Deno.test("renderMcpService() runs a shared server as root only when its manifest says so", () => {
  const given = manifest("x", { sharing: "shared", runAs: "root" });
  const unit = renderMcpService(given, { paths, agent: undefined, workdir: "/", closed: [] });
  assert.equal(unitValue(unit, "Service", "DynamicUser"), undefined);
  assert.equal(unitValue(unit, "Service", "User"), undefined);
  const own = renderMcpService({ ...given, sharing: "per_user" }, {
    paths,
    agent: ada,
    workdir: "/",
    closed: [],
  });
  assert.equal(unitValue(own, "Service", "User"), "ada");
  assert.equal(unitValue(own, "Service", "ProtectSystem"), "strict");
  // Without it systemd leaves homes writable, whatever the value of ProtectSystem.
  assert.equal(unitValue(own, "Service", "ProtectHome"), "read-only");
});

Deno.test("renderMcpService() hands a shared OAuth server its client as a credential", () => {
  const given = manifest("office-a", {
    sharing: "shared",
    auth: "oauth",
    oauth: { provider: "office-a", scopes: [] },
  });
  const unit = renderMcpService(given, { paths, agent: undefined, workdir: "/", closed: [] });
  assert.equal(
    unitValue(unit, "Service", "LoadCredential"),
    "office-a-client.json:/etc/fleetctl/env/office-a-client.json",
  );
  const exec = unitValue(unit, "Service", "ExecStart");
  assert.match(exec ?? "", /--allow-read=\/var\/lib\/fleetctl\/deploy\/office-a,%d /);
});

Deno.test("serverCommand() grants what the manifest says and nothing else", () => {
  const place = { paths, agent: ada, workdir: "/srv/project", closed: [] };
  const words = serverCommand(
    manifest("x", {
      permissions: {
        net: ["*"],
        read: ["{workdir}"],
        write: ["{home}/out"],
        env: ["TZ"],
        run: [],
        sys: ["cpus"],
      },
      args: ["--dir", "{workdir}", "{tree}/data"],
      environment: { X_HOME: "{home}" },
    }),
    place,
  );
  assert.deepEqual(words, [
    "/usr/lib/fleetctl/fleetctl-checked",
    "x",
    "/usr/bin/env",
    "X_HOME=/home/ada",
    "/usr/lib/fleetctl/deno",
    "run",
    "-q",
    "--no-prompt",
    "--cached-only",
    "--no-config",
    "--node-modules-dir=manual",
    "--no-lock",
    "--v8-flags=--max-old-space-size=384",
    "--allow-read=/var/lib/fleetctl/deploy/x,/srv/project",
    "--allow-write=/home/ada/out",
    "--allow-net",
    "--allow-env=NO_COLOR,TZ,X_HOME",
    "--ignore-env",
    "--allow-sys=cpus",
    "/var/lib/fleetctl/deploy/x/current/node_modules/@example/x/cli.js",
    "--dir",
    "/srv/project",
    "/var/lib/fleetctl/deploy/x/current/data",
  ]);
});

Deno.test("a manifest cannot override what fleetctl itself sets", () => {
  const environment = { FLEETCTL_PERMISSIONS: "{workdir}/p.json", PATH: "{workdir}", X: "1" };
  const place = { paths, agent: ada, workdir: "/srv/project", closed: [] };
  const lines = unitValues(
    renderMcpService(manifest("x", { environment }), place),
    "Service",
    "Environment",
  );
  // systemd uses the last assignment of a name.
  const last = new Map(
    lines.map((line) => line.replaceAll('"', "").split("=") as [string, string]),
  );
  assert.equal(last.get("X"), "1");
  assert.equal(last.get("PATH"), "/usr/local/bin:/usr/bin:/bin");
  assert.equal(last.get("FLEETCTL_PERMISSIONS"), "/var/lib/fleetctl/permissions/agent-ada.json");
});

Deno.test("serverCommand() sets variables, except those that control programs", () => {
  const place = { paths, agent: ada, workdir: "/srv/project", closed: [] };
  const environment = { X_SITE: "{home}/a b", PATH: "{workdir}", FLEETCTL_ROOT: "/x", __T__: "1" };
  for (const more of [{}, { engine: "node", engineReason: "native" } as const]) {
    const words = serverCommand(manifest("x", { environment, ...more }), place);
    assert.deepEqual(words.slice(2, 4), ["/usr/bin/env", "X_SITE=/home/ada/a b"]);
    assert.ok(!words.some((word) => /^(PATH|FLEETCTL_ROOT|__T__)=/.test(word)), words.join(" "));
  }
  assert.ok(!serverCommand(manifest("x", {}), place).includes("/usr/bin/env"));
});

Deno.test("closed paths are denied to a server, and hidden from its children", () => {
  const closed = ["/home/ada/.fleetctl/dial", "/home/ada/.runtime-b"];
  const place = { paths, agent: ada, workdir: "/srv/project", closed };
  const permissions = { net: [], read: ["{home}"], write: [], env: [], run: [], sys: [] };
  const reads = manifest("x", { permissions });
  const words = serverCommand(reads, place);
  assert.ok(words.includes(`--deny-read=${closed.join(",")}`), words.join(" "));
  assert.ok(!words.some((word) => word.startsWith("--deny-write")));
  const hidden = (given: Parameters<typeof serverCommand>[0]) =>
    unitValue(renderMcpService(given, place), "Service", "InaccessiblePaths");
  const all = "-/home/ada/.fleetctl/dial -/home/ada/.runtime-b";
  assert.equal(hidden(reads), all);
  assert.equal(hidden(manifest("x", { permissions: { ...permissions, read: [] } })), undefined);
  const runs = manifest("x", { permissions: { ...permissions, read: [], run: ["git"] } });
  assert.equal(hidden(runs), all);
  // Node sees only the granted parts of a home; with a grant, all closed paths are hidden.
  const node = { engine: "node", engineReason: "native" } as const;
  assert.equal(hidden(manifest("x", node)), undefined);
  assert.equal(hidden(manifest("x", { ...node, permissions })), all);
});

Deno.test("serverCommand() drops undeclared variables where Deno does not confine", () => {
  const place = { paths, agent: ada, workdir: "/", closed: [] };
  const node = serverCommand(manifest("x", { engine: "node", engineReason: "native" }), place);
  assert.deepEqual(node.slice(2, 7), [
    "/usr/lib/fleetctl/fleetctl-keep-env",
    "HOME,PATH,LANG,TMPDIR,DENO_DIR,DENO_NO_UPDATE_CHECK,NO_COLOR",
    "/usr/bin/env",
    "node",
    "--max-old-space-size=384",
  ]);
  const permissions = { net: [], read: [], write: [], env: ["TZ"], run: ["git"], sys: [] };
  const runs = serverCommand(manifest("x", { permissions }), place);
  assert.equal(runs[2], "/usr/lib/fleetctl/fleetctl-keep-env");
  assert.match(runs[3] ?? "", /(^|,)TZ$/);
  const builtin = serverCommand(
    manifest("agent-message", { source: { kind: "builtin", name: "agent-message" } }),
    place,
  );
  assert.deepEqual(builtin, ["/usr/lib/fleetctl/fleetctl-mcp", "serve", "agent-message"]);
});

Deno.test("printUnit() and parseUnit() are inverse for every rendered unit", () => {
  for (const name of ["git", "notes"] as McpName[]) {
    const given = facts(ALL).catalog.get(name)!;
    const agent = given.sharing === "shared" ? undefined : ada;
    const unit = renderMcpService(given, { paths, agent, workdir: "/srv/a%b", closed: [] });
    const parsed = parseUnit(unit.name, printUnit(unit));
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.value, unit);
  }
});

for (const ask of [...ASK_MODES, undefined]) {
  Deno.test(`the unit of an agent with the mode ${ask} passes it on`, () => {
    const record = agent("ada", ask === undefined ? {} : { ask });
    const unit = renderDial(record, {
      paths,
      registerUrl: "ws://127.0.0.1:8735",
      workspace: "/srv/project",
      settings: {},
    });
    const modes = unitValues(unit, "Service", "Environment")
      .filter((value) => value.startsWith("FLEETCTL_ASK="));
    assert.deepEqual(modes, ask === undefined ? [] : [`FLEETCTL_ASK=${ask}`]);
  });
}

Deno.test("the unit of an agent with a sandbox covers no part of /proc", () => {
  const unitOf = (of: Partial<AgentRecord>) =>
    renderDial(agent("ada", of), {
      paths,
      registerUrl: "ws://127.0.0.1:8735",
      workspace: "/srv/project",
      settings: {},
    });
  const covers = ["ProtectKernelLogs", "ProtectKernelTunables", "ProtectHostname"];
  const keysOf = (unit: ReturnType<typeof unitOf>) =>
    covers.filter((key) => unitValues(unit, "Service", key).length > 0);
  const sandboxOf = (unit: ReturnType<typeof unitOf>) =>
    unitValues(unit, "Service", "Environment").filter((value) => value.includes("SANDBOX"));
  const on = unitOf({ sandbox: "on", sandboxNetwork: "all" });
  assert.deepEqual(keysOf(on), []);
  assert.deepEqual(sandboxOf(on), [
    "FLEETCTL_SANDBOX=/srv/project",
    "FLEETCTL_SANDBOX_NETWORK=all",
  ]);
  const off = unitOf({ sandbox: "off", sandboxNetwork: "all" });
  assert.deepEqual(keysOf(off), covers);
  assert.deepEqual(sandboxOf(off), []);
});

Deno.test("the unit of an agent passes on each line of its persona", () => {
  const persona = 'You are "terse" \\ 100%.\n\n\tYou like trains.';
  const unit = renderDial(agent("ada", { persona }), {
    paths,
    registerUrl: "ws://127.0.0.1:8735",
    workspace: "/srv/project",
    settings: {},
  });
  const parsed = parseUnit(unit.name, printUnit(unit));
  assert.ok(parsed.ok);
  const [value = ""] = unitValues(parsed.value, "Service", "Environment")
    .filter((each) => each.includes("FLEETCTL_PERSONA="));
  const words = readWords(value, new Map());
  assert.deepEqual(words.ok && words.value.map((word) => word.text), [
    `FLEETCTL_PERSONA=${persona}`,
  ]);
});
