/**
 * Whole units parsed: values, defaults, and every fault with unit, section and key.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseUnit } from "core/text/unit_file.ts";
import { judgeKey, UNIT_KEYS } from "units/manager/units/unit_keys.ts";
import { readUnitSpec, specifiersOf, type UnitSpec } from "units/manager/units/unit_spec.ts";

const PLACES = {
  at: (path: string) => `/root-of-it${path}`,
  credentials: (unit: string) => `/credentials/${unit}`,
};

function read(name: string, text: string) {
  const unit = parseUnit(name, text);
  assert(unit.ok);
  return readUnitSpec(unit.value, name, PLACES);
}

function service(text: string): Extract<UnitSpec, { kind: "service" }> {
  const spec = read("a.service", `[Service]\nExecStart=/bin/a\n${text}`);
  assert(spec.ok, JSON.stringify(spec));
  assert(spec.value.kind === "service");
  return spec.value;
}

Deno.test("readUnitSpec() uses the defaults of systemd", () => {
  const spec = service("");
  assert.deepEqual(
    [
      spec.type,
      spec.restart.when,
      spec.restart.firstMs,
      spec.restart.burst,
      spec.restart.intervalMs,
    ],
    ["simple", "no", 100, 5, 10_000],
  );
  assert.deepEqual(
    [spec.startMs, spec.stopMs, spec.runtimeMaxMs, spec.memoryBytesMax, spec.killMode, spec.umask],
    [90_000, 90_000, Infinity, Infinity, "control-group", 0o022],
  );
  assert.equal(service("Type=oneshot").startMs, Infinity);
});

const VALUES: readonly { readonly text: string; readonly want: Partial<typeof EMPTY> }[] = [
  { text: "TimeoutStopSec=1min 30s", want: { stopMs: 90_000 } },
  { text: "TimeoutStopSec=250ms", want: { stopMs: 250 } },
  { text: "TimeoutSec=7\nTimeoutStopSec=2", want: { startMs: 7_000, stopMs: 2_000 } },
  { text: "TimeoutStopSec=infinity", want: { stopMs: Infinity } },
  { text: "MemoryMax=64M", want: { memoryBytesMax: 64 * 1024 * 1024 } },
  { text: "MemoryMax=1073741824", want: { memoryBytesMax: 2 ** 30 } },
  { text: "RuntimeMaxSec=2h", want: { runtimeMaxMs: 7_200_000 } },
  { text: "KillSignal=INT\nKillMode=mixed", want: { killSignal: "SIGINT", killMode: "mixed" } },
  { text: "X-FleetctlReady=log", want: { isReadyByLog: true } },
  { text: "UMask=0077", want: { umask: 0o077 } },
  {
    text: "EnvironmentFile=-/a b\nEnvironmentFile=/c",
    want: {
      environmentFiles: [{ path: "/a b", isOptional: true }, { path: "/c", isOptional: false }],
    },
  },
  {
    text: "WorkingDirectory=-~",
    want: { workingDirectory: { path: "~", isOptional: true } },
  },
  { text: "Environment=A=1\nEnvironment=\nEnvironment=B=2", want: { environment: [["B", "2"]] } },
  {
    text: "LoadCredential=x.json:/e/x.json",
    want: { credentials: [{ id: "x.json", path: "/e/x.json" }] },
  },
  {
    text: "StateDirectory=fleetctl/a b\nStateDirectoryMode=0700",
    want: {
      folders: [
        { kind: "State", name: "fleetctl/a", mode: 0o700 },
        { kind: "State", name: "b", mode: 0o700 },
      ],
    },
  },
];
const EMPTY = service("");

Deno.test("readUnitSpec() reads each value", () => {
  for (const { text, want } of VALUES) {
    const spec = service(text);
    for (const [key, value] of Object.entries(want)) {
      assert.deepEqual(spec[key as keyof typeof spec], value, `${text}: ${key}`);
    }
  }
});

const FAULTS: readonly { readonly name?: string; readonly text: string; readonly want: string }[] =
  [
    { text: "[Service]\n", want: "[Service] ExecStart: 0 usable commands, must be exactly one" },
    {
      text: "[Service]\nExecStart=/a\nExecStart=/b",
      want: "[Service] ExecStart: 2 usable commands, must be exactly one",
    },
    {
      text: "[Service]\nExecStart=/a\nType=forking",
      want: "[Service] Type: must be one of exec, simple, oneshot",
    },
    {
      text: "[Service]\nExecStart=/a\nExecStop=/b",
      want: "[Service] ExecStop: a unit is stopped by a signal only",
    },
    { text: "[Service]\nExecStart=/a\nNonsense=1", want: "[Service] Nonsense: not a known key" },
    {
      text: "[Service]\nExecStart=/a\nX-FleetctlNew=1",
      want: "[Service] X-FleetctlNew: not a known X-Fleetctl key",
    },
    {
      text: "[Service]\nExecStart=/a\n[Mount]\nWhat=x",
      want: "[Mount] What: [Mount] is not a known section",
    },
    {
      text: "[Service]\nExecStart=/a\nKillMode=none",
      want: "[Service] KillMode: must be one of control-group, mixed, process",
    },
    {
      text: "[Service]\nExecStart=/a\nMemoryMax=50%",
      want: '[Service] MemoryMax: must be a size such as "512M" or "infinity"',
    },
    {
      text: "[Service]\nExecStart=/a\nTimeoutStopSec=soon",
      want: '[Service] TimeoutStopSec: must be a time span such as "5s", "1min 30s" or "infinity"',
    },
    {
      text: "[Service]\nExecStart=/a\nEnvironmentFile=rel",
      want: "[Service] EnvironmentFile: must be an absolute path",
    },
    {
      text: "[Service]\nExecStart=/a\nStateDirectory=../x",
      want: "[Service] StateDirectory: must be a relative path without dots",
    },
    {
      text: "[Service]\nExecStart=/a\nLoadCredential=../x:/a",
      want: "[Service] LoadCredential: must have the form name:/absolute/path",
    },
    {
      text: "[Service]\nExecStart=/a\nUMask=9",
      want: '[Service] UMask: must be octal permission bits such as "0660"',
    },
    {
      text: "[Service]\nExecStart=/a\nSuccessExitStatus=999",
      want: '[Service] SuccessExitStatus: "999" is neither an exit code nor a signal',
    },
    {
      text: "[Service]\nExecStart=/a\nStandardOutput=socket",
      want: "[Service] StandardOutput: is socket, so StandardInput must be socket, too",
    },
    {
      text: "[Service]\nExecStart=/a\nStandardInput=socket\nExecStartPre=/b",
      want: "[Service] ExecStartPre: not supported for the server of a connection",
    },
    {
      name: "a.socket",
      text: "[Socket]\nListenStream=/a",
      want: "[Socket] Accept: must be yes: only one server per connection is supported",
    },
    {
      name: "a.socket",
      text: "[Socket]\nListenStream=/a\nAccept=no",
      want: "[Socket] Accept: must be yes: only one server per connection is supported",
    },
    {
      name: "a.socket",
      text: "[Socket]\nListenStream=127.0.0.1:80\nAccept=yes",
      want: "[Socket] ListenStream: must be the absolute path of a unix socket",
    },
    {
      name: "a.socket",
      text: `[Socket]\nListenStream=/${"a".repeat(107)}\nAccept=yes`,
      want: "[Socket] ListenStream: the path has 108 bytes, must have at most 107",
    },
    {
      name: "a.socket",
      text: "[Socket]\nListenStream=/a\nAccept=yes\nListenDatagram=/b",
      want: "[Socket] ListenDatagram: only unix streams are served",
    },
    {
      name: "a.timer",
      text: "[Unit]\n",
      want: '[Unit] Description: units of the kind ".timer" are not supported',
    },
  ];

Deno.test("readUnitSpec() refuses with unit, section, key and reason", () => {
  for (const { name = "a.service", text, want } of FAULTS) {
    const spec = read(name, text);
    assert(!spec.ok, text);
    assert(spec.error.includes(`${name}: ${want}`), `${text}\n${spec.error.join("\n")}`);
  }
});

Deno.test("readUnitSpec() reports all faults of a file at once", () => {
  const spec = read("a.service", "[Service]\nExecStart=b\nExecStop=/b\nRestart=maybe\n");
  assert(!spec.ok);
  assert.equal(spec.error.length, 4);
});

Deno.test("specifiersOf() puts folders under the root and names the instance", () => {
  const values = specifiersOf("x@3-7-0.service", PLACES);
  assert.deepEqual(
    ["n", "N", "p", "i", "h", "t", "d"].map((letter) => values.get(letter)),
    [
      "x@3-7-0.service",
      "x@3-7-0",
      "x",
      "3-7-0",
      "/root-of-it/root",
      "/root-of-it/run",
      "/credentials/x@3-7-0.service",
    ],
  );
});

Deno.test("UNIT_KEYS gives a reason for each relaxed or refused key", () => {
  for (const [section, rules] of UNIT_KEYS) {
    for (const [key, rule] of rules) {
      assert.equal(rule.treatment === "honoured", rule.why === undefined, `[${section}] ${key}`);
      assert.deepEqual(judgeKey(section, key), rule);
    }
  }
  assert.equal(judgeKey("Service", "X-Other").treatment, "relaxed");
  assert.equal(judgeKey("X-Ours", "Any").treatment, "relaxed");
  assert.equal(judgeKey("Service", "Restrat").treatment, "refused");
});
