/**
 * The units of a Python server: the sandbox that systemd builds, its exposure score, and that the
 * embedded manager starts it behind bubblewrap or not at all.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentName } from "core/names.ts";
import { readUnitSpec } from "units/manager/units/unit_spec.ts";
import { pathsUnder } from "core/paths.ts";
import { parseUnit, printUnit, type Unit, unitValue, unitValues } from "core/text/unit_file.ts";
import { manifest } from "tests/units/reconcile/fixture.ts";
import { renderMcpService } from "units/render/mcp/service.ts";

const ANALYZE = "/usr/bin/systemd-analyze";
const hasAnalyze = await Deno.stat(ANALYZE).then(() => true, () => false);
const EXPOSURE_MAX = 2;
/** Higher, because systemd does not see the restrictions that bubblewrap adds after the start. */
const EXPOSURE_BEFORE_VIEW_MAX = 3.5;
const ada = "ada" as AgentName;

function python(permissions: Partial<Manifest["permissions"]> = {}): Manifest {
  return manifest("wiki", {
    source: { kind: "uvx", package: "acme-wiki", version: "1.0.0" },
    command: "site/bin/acme-wiki",
    permissions: { net: [], read: [], write: [], env: [], run: [], sys: [], ...permissions },
  });
}

function unitOf(
  given: Manifest,
  { root = "/", isShared = false } = {},
): Unit {
  const agent = isShared ? undefined : ada;
  return renderMcpService(given, {
    paths: pathsUnder(root),
    agent,
    workdir: isShared ? undefined : "/srv/ada",
    closed: [],
  });
}

function lists(unit: Unit, key: string): readonly string[] {
  return unitValues(unit, "Service", key).flatMap((value) => value.split(" "));
}

Deno.test("under systemd a Python server without paths sees programs and its tree", () => {
  const unit = unitOf(python());
  assert.equal(unitValue(unit, "Service", "RootDirectory"), "/var/lib/fleetctl/deploy/wiki/.root");
  const shown = lists(unit, "BindReadOnlyPaths");
  for (const path of ["/usr", "/var/lib/fleetctl/deploy/wiki", "-/etc/fleetctl/gate/wiki.json"]) {
    assert.ok(shown.includes(path), path);
  }
  const own = /^-?\/(usr|bin|sbin|lib\d*|etc\/[\w.-]+|etc\/fleetctl\/gate\/wiki\.json)$/;
  const rest = shown.filter((path) => !own.test(path)).sort();
  assert.deepEqual(rest, [
    "-/var/lib/fleetctl/permissions/agent-ada.json",
    "/var/lib/fleetctl/deploy/wiki",
  ]);
  assert.ok(!shown.some((path) => /shadow|sudoers|\/etc\/fleetctl$|\/etc$/.test(path)));
  assert.match(unitValue(unit, "Service", "TemporaryFileSystem") ?? "", /^\/home\/ada:/);
  assert.equal(unitValue(unit, "Service", "PrivateNetwork"), "yes");
  assert.equal(unitValue(unit, "Service", "RestrictNamespaces"), "yes");
  assert.equal(unitValue(unit, "Service", "SystemCallFilter"), "@system-service");
  const command = unitValue(unit, "Service", "ExecStart") ?? "";
  assert.match(command, /fleetctl-keep-env \S+ \/usr\/bin\/python3 -I -S -B -c /);
  assert.doesNotMatch(command, /bwrap/);
});

const GRANTS = { read: ["{home}/notes", "/srv/wiki"], write: ["{workdir}/drafts"] };

Deno.test("systemd, which is root, resolves no path that a manifest grants", () => {
  for (const isShared of [false, true]) {
    const unit = unitOf(python(GRANTS), { isShared });
    const text = unit.sections.map(printed).join("");
    for (const key of ["BindPaths", "BindReadOnlyPaths", "RootDirectory"]) {
      assert.doesNotMatch(text, new RegExp(`^${key}=`, "m"), `${isShared} ${key}`);
    }
    // A setting that covers a part of /proc prevents bubblewrap from mounting one.
    assert.doesNotMatch(text, /^Protect(KernelLogs|KernelTunables|Hostname|Proc)=/m);
    const command = unitValue(unit, "Service", "ExecStart") ?? "";
    assert.match(command, / \/usr\/bin\/bwrap --unshare-all --unshare-user --disable-userns /);
    const drafts = isShared ? "/var/cache/fleetctl/mcp-wiki/drafts" : "/srv/ada/drafts";
    assert.ok(command.includes(` --bind-try ${drafts} ${drafts} --chdir `), command);
  }
  const shared = unitValue(unitOf(python(GRANTS), { isShared: true }), "Service", "ExecStart");
  const home = "/var/cache/fleetctl/mcp-wiki";
  assert.match(shared ?? "", new RegExp(` --bind-try ${home} ${home} --ro-bind `));
});

Deno.test("the network is all or nothing", () => {
  const open = unitOf(python({ net: ["*"] }));
  assert.equal(unitValue(open, "Service", "PrivateNetwork"), undefined);
  assert.match(
    unitOf(python(), { root: "/r" }).sections.map(printed).join(""),
    /--disable-userns --cap/,
  );
  const shared = unitOf(python({ net: ["*"] }), { root: "/r" });
  assert.match(shared.sections.map(printed).join(""), /--disable-userns --share-net --cap-drop/);
});

function printed({ entries }: Unit["sections"][number]): string {
  return entries.map(({ key, value }) => `${key}=${value}\n`).join("");
}

Deno.test("under another root bubblewrap builds the sandbox, and up accepts the unit", () => {
  const given = python({ read: ["{home}/notes"], write: ["{home}/drafts"] });
  const unit = unitOf(given, { root: "/r" });
  assert.equal(unitValue(unit, "Service", "RootDirectory"), undefined);
  const command = unitValue(unit, "Service", "ExecStart") ?? "";
  assert.match(command, /fleetctl-keep-env \S+ \/usr\/bin\/bwrap --unshare-all --unshare-user /);
  assert.match(command, / --tmpfs \/r\/home\/ada --ro-bind \/r\/var\/lib\/fleetctl\/deploy\/wiki /);
  assert.match(command, / --ro-bind-try \/r\/home\/ada\/notes \/r\/home\/ada\/notes /);
  assert.match(command, / --bind-try \/r\/home\/ada\/drafts \/r\/home\/ada\/drafts --chdir /);
  const parsed = parseUnit(unit.name, printUnit(unit));
  assert.ok(parsed.ok);
  const spec = readUnitSpec(parsed.value, unit.name.replace("@.", "@0."), {
    at: (path) => path,
    credentials: () => "/r/run/credentials",
  });
  assert.deepEqual(spec.ok ? [] : spec.error, []);
});

Deno.test({
  name: "systemd-analyze finds nothing wrong with a Python server's unit, and little exposed",
  ignore: !hasAnalyze,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      const rows = [
        { isShared: false, grants: {}, max: EXPOSURE_MAX },
        { isShared: true, grants: {}, max: EXPOSURE_MAX },
        { isShared: false, grants: GRANTS, max: EXPOSURE_BEFORE_VIEW_MAX },
        { isShared: true, grants: GRANTS, max: EXPOSURE_BEFORE_VIEW_MAX },
      ];
      for (const { isShared, grants, max } of rows) {
        const sharing = isShared ? "shared" : "per_user";
        const unit = unitOf({ ...python({ net: ["*"], ...grants }), sharing }, { isShared });
        // The programs of a host are missing on this machine.
        const text = printUnit(unit).replaceAll("/usr/lib/fleetctl/fleetctl-checked", "/bin/true");
        await Deno.writeTextFile(`${folder}/${unit.name}`, text);
        const { stdout, stderr } = await new Deno.Command(ANALYZE, {
          args: ["security", "--offline=yes", "--no-pager", `./${unit.name}`],
          cwd: folder,
          env: { SYSTEMD_COLORS: "0", LC_ALL: "C" },
        }).output();
        const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
        const score = Number(/Overall exposure level for .*: ([\d.]+)/.exec(said)?.[1]);
        assert.ok(score <= max, `${unit.name}: ${score}`);
        assert.doesNotMatch(said, /Unknown|Invalid|Failed to parse/);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
