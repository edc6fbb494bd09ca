/**
 * Runtime definitions: shipped ones, a host's overlay, and every fault of a file.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { fillPlaceholders, idleSecondsOf, parseDefinition } from "core/runtimes/definition.ts";
import { findDefinition, readDefinitions, shippedDefinitions } from "core/runtimes/definitions.ts";
import { startMsOf } from "core/runtimes/needs.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const PATHS = pathsUnder("/");
const WHOLE = [
  "summary: Mine",
  "command: /opt/mine/agent",
  'args: ["--home", "{home}"]',
  "protocol: acp",
  "client_config:",
  '  path: "{home}/.mine.json"',
  "  shape: runtime-b",
].join("\n");

Deno.test("shippedDefinitions() are the built-in runtimes and the well-known programs", () => {
  const shipped = shippedDefinitions();
  assert.deepEqual([...shipped.keys()], [
    "runtime-a",
    "runtime-b",
    "claude-code",
    "codex",
    "pi",
    "opencode",
    "claude-agent-acp",
  ]);
  assert.deepEqual(shipped.get("runtime-b"), {
    name: "runtime-b",
    summary: "Built-in agent loop over any model endpoint",
    command: "{lib}/fleetctl-runtime",
    args: [],
    protocol: "acp",
    clientConfig: { path: "{home}/.runtime-b/agent/mcp.json", shape: "runtime-b" },
    login: "none",
    env: {},
    state: ["{home}/.runtime-b"],
  });
  assert.deepEqual(shipped.get("runtime-a")?.clientConfig, {
    path: "{home}/.runtime-a.json",
    shape: "runtime-a",
  });
  assert.equal(shipped.get("runtime-a")?.login, "pasted_code");
});

Deno.test("readDefinitions() merges the host's files over the shipped ones", async () => {
  const files = memoryFiles({
    [`${PATHS.runtimesDir}/runtime-a.yaml`]: "command: /opt/a/run\nprotocol: stream_json\n",
    [`${PATHS.runtimesDir}/mine.yaml`]: WHOLE,
    [`${PATHS.runtimesDir}/.hidden.yaml`]: "nonsense: 1",
    [`${PATHS.runtimesDir}/notes.txt`]: "nonsense",
  });
  const { byName, faults } = await readDefinitions(files, PATHS);
  assert.deepEqual(faults, []);
  assert.deepEqual(new Set(byName.keys()), new Set([...shippedDefinitions().keys(), "mine"]));
  assert.equal(byName.get("runtime-a")?.command, "/opt/a/run");
  assert.equal(byName.get("runtime-a")?.protocol, "stream_json");
  assert.equal(byName.get("runtime-a")?.login, "pasted_code");
  assert.deepEqual(byName.get("mine")?.args, ["--home", "{home}"]);
});

Deno.test("readDefinitions() merges needs one by one", async () => {
  const files = memoryFiles({
    [`${PATHS.runtimesDir}/opencode.yaml`]: "needs: { start_seconds: 200 }\nknown: []\n",
    [`${PATHS.runtimesDir}/codex.yaml`]: "command: /opt/codex\n",
  });
  const { byName, faults } = await readDefinitions(files, PATHS);
  assert.deepEqual(faults, []);
  const opencode = byName.get("opencode");
  assert.deepEqual(opencode?.needs, { memoryMb: 800, startSeconds: 200 });
  assert.deepEqual(opencode?.known, []);
  assert.match(opencode?.install ?? "", /opencode-ai@/);
  // The shipped command would not install the host's own program.
  assert.equal(byName.get("codex")?.install, undefined);
  assert.deepEqual(byName.get("codex")?.known, ["0.169.0"]);
});

Deno.test("startMsOf() is 90 s unless the definition states another time", () => {
  assert.equal(startMsOf(undefined), 90_000);
  assert.equal(startMsOf({ memoryMb: 1 }), 90_000);
  assert.equal(startMsOf({ startSeconds: 5 }), 5_000);
});

Deno.test("docs/runtime.md installs programs as the shipped definitions do", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/runtime.md", import.meta.url));
  for (const { name, install, known = [] } of shippedDefinitions().values()) {
    if (install === undefined) continue;
    assert.ok(page.includes(`\n${install}\n`), name);
    assert.ok(known.some((version) => install.endsWith(`@${version}`)), name);
  }
});

Deno.test("readDefinitions() reports a broken file and keeps the shipped definition", async () => {
  const files = memoryFiles({
    [`${PATHS.runtimesDir}/runtime-b.yaml`]: "comand: /opt/b\n",
    [`${PATHS.runtimesDir}/mine.yaml`]: WHOLE,
  });
  const { byName, faults } = await readDefinitions(files, PATHS);
  assert.equal(byName.get("runtime-b")?.command, "{lib}/fleetctl-runtime");
  assert.ok(byName.has("mine"));
  assert.equal(faults.length, 1);
  assert.equal(faults[0]?.code, "runtime-invalid");
  assert.match(faults[0]?.details[0] ?? "", /runtime-b\.yaml:1: comand is not a known key/);
});

Deno.test("readDefinitions() reports a folder that cannot be read", async () => {
  const files = memoryFiles({ [PATHS.runtimesDir]: "a file" });
  const { byName, faults } = await readDefinitions(files, PATHS);
  assert.equal(byName.size, shippedDefinitions().size);
  assert.equal(faults[0]?.code, "runtime-unreadable");
});

const BAD: readonly (readonly [string, string, RegExp])[] = [
  ["an unknown key", `${WHOLE}\nlogn: none`, /mine\.yaml:8: logn is not a known key/],
  [
    "a relative command",
    WHOLE.replace("/opt/mine/agent", "agent"),
    /command must be an absolute path/,
  ],
  ["an unknown placeholder", WHOLE.replace('{home}"]', '{root}"]'), /args must be a list of texts/],
  ["an unknown protocol", WHOLE.replace("acp", "grpc"), /:4: protocol must be one of acp/],
  [
    "an unknown shape",
    WHOLE.replace("shape: runtime-b", "shape: x"),
    /client_config\.shape must be/,
  ],
  [
    "a missing path",
    WHOLE.replace('  path: "{home}/.mine.json"\n', ""),
    /client_config\.path is not set/,
  ],
  ["an empty file", "", /must be a mapping/],
  ["a variable of fleetctl", `${WHOLE}\nenv: { FLEETCTL_ROOT: x }`, /:8: env must map names/],
  ["a variable that is not text", `${WHOLE}\nenv: { PORT: 80 }`, /:8: env must map names/],
  [
    "state outside the home",
    `${WHOLE}\nstate: ["/srv/mine"]`,
    /:8: state must be a list of paths below/,
  ],
  ["state that leaves the home", `${WHOLE}\nstate: ["{home}/../bob"]`, /:8: state must be a list/],
  ["the whole home as state", `${WHOLE}\nstate: ["{home}/"]`, /:8: state must be a list/],
  ["a version that is a number", `${WHOLE}\nknown: [1.0]`, /:8: known must be a list of at most/],
  ["versions that are not list", `${WHOLE}\nknown: "1.0"`, /:8: known must be a list/],
  ["needs that are a number", `${WHOLE}\nneeds: 5`, /:8: needs must be a mapping/],
  ["an unknown need", `${WHOLE}\nneeds: { disk_mb: 1 }`, /needs\.disk_mb is not a known key/],
  ["no memory", `${WHOLE}\nneeds: { memory_mb: 0 }`, /needs\.memory_mb must be a whole number/],
  ["memory as text", `${WHOLE}\nneeds: { memory_mb: 1G }`, /needs\.memory_mb must be a whole/],
  [
    "a start of more than an hour",
    `${WHOLE}\nneeds: { start_seconds: 3601 }`,
    /needs\.start_seconds must be a whole number from 1 to 3600/,
  ],
  ["an install command of two lines", `${WHOLE}\ninstall: "a\\nb"`, /install must be a command on/],
  ["a negative idle time", `${WHOLE}\nidle_seconds: -1`, /:8: idle_seconds must be a whole number/],
  ["an idle time of a text", `${WHOLE}\nidle_seconds: "9"`, /:8: idle_seconds must be a whole/],
  ["more than a week", `${WHOLE}\nidle_seconds: 604801`, /:8: idle_seconds must be a whole/],
  ["a bad login", `${WHOLE}\nlogin: magic`, /login must be one of none, pasted_code/],
];
for (const [what, text, fault] of BAD) {
  Deno.test(`parseDefinition() refuses ${what}`, () => {
    const parsed = parseDefinition(text, "mine.yaml");
    assert.ok(!parsed.ok);
    assert.equal(parsed.error.code, "runtime-invalid");
    assert.ok(
      parsed.error.details.some((line) => fault.test(line)),
      parsed.error.details.join("\n"),
    );
  });
}

const RUNS_OTHER = "command: /opt/b/run\n";
const IDLE: readonly (readonly [string, string, number | undefined])[] = [
  ["the built-in program", "", 600],
  ["another program", RUNS_OTHER, 900],
  ["a host's own number", "idle_seconds: 30\n", 30],
  ["another program with a host's own number", `${RUNS_OTHER}idle_seconds: 30\n`, 30],
  ["a host that lets none sleep", "idle_seconds: 0\n", undefined],
];
for (const [what, text, wanted] of IDLE) {
  Deno.test(`idleSecondsOf() of ${what} is ${wanted}`, async () => {
    const files = memoryFiles(text === "" ? {} : { [`${PATHS.runtimesDir}/runtime-b.yaml`]: text });
    const found = findDefinition(await readDefinitions(files, PATHS), "runtime-b");
    assert.ok(found.ok);
    assert.equal(idleSecondsOf(found.value), wanted);
  });
}

Deno.test("parseDefinition() refuses invalid YAML", () => {
  const parsed = parseDefinition("a: [", "mine.yaml");
  assert.equal(parsed.ok ? "" : parsed.error.code, "yaml-invalid");
});

Deno.test("findDefinition() lists the existing names", async () => {
  const definitions = await readDefinitions(memoryFiles(), PATHS);
  const found = findDefinition(definitions, "runtime-z");
  assert.ok(!found.ok);
  assert.equal(found.error.code, "runtime-unknown");
  assert.match(
    found.error.message,
    /must be one of "claude-agent-acp", "claude-code", .*"runtime-a", "runtime-b"/,
  );
});

Deno.test("fillPlaceholders() replaces known placeholders and keeps unknown ones", () => {
  const values = { lib: "/usr/lib/fleetctl", home: "/home/$&", agent: "ada" };
  assert.equal(
    fillPlaceholders("{lib}/x {home} {agent} {other}", values),
    "/usr/lib/fleetctl/x /home/$& ada {other}",
  );
});
