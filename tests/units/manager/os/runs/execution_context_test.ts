/**
 * The environment of a service, seen from inside.
 *
 * @module
 */

import assert from "node:assert/strict";
import { leakless, shell, startRig } from "tests/units/manager/os/rig.ts";

/** Runs a one-shot service; returns its output. */
async function printed(script: string, more: string, files: Readonly<Record<string, string>> = {}) {
  await using rig = await startRig({});
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(rig.path(name), text);
  await rig.write({
    "a.service": shell(script, `Type=oneshot\n${more.replaceAll("{root}", rig.root)}`),
  });
  await rig.manager.start("a.service");
  const lines = await rig.manager.journal("a.service", 50);
  return lines.map((line) => line.replaceAll(rig.root, "{root}"));
}

leakless("a service gets its variables; a file beats a line, and the later file wins", async () => {
  const lines = await printed(
    'echo "$A|$B|$C|$D|$FLEETCTL_ROOT|$UNSET"',
    `Environment=A=line "B=line b" C=line UNSET=x\nEnvironmentFile={root}/one\n` +
      `EnvironmentFile=-{root}/none\nEnvironmentFile={root}/two\nUnsetEnvironment=UNSET`,
    { one: 'B=one\nC="one c"\nD=one\n', two: "D=two\n" },
  );
  assert.deepEqual(lines, ["line|one|one c|two|{root}|"]);
});

leakless("a service gets no variable of the manager, and its own mark", async () => {
  const lines = await printed("env | sed 's/=.*//' | sort", "");
  assert.deepEqual(lines, [
    "FLEETCTL_MANAGED_BY",
    "FLEETCTL_ROOT",
    "FLEETCTL_UNIT",
    "INVOCATION_ID",
    "PATH",
    "PWD",
  ]);
});

leakless("User= sets the home and is otherwise relaxed", async () => {
  assert.deepEqual(
    await printed('echo "$HOME $USER $LOGNAME"; id -u', "User=ada\nWorkingDirectory=-~"),
    ["{root}/home/ada ada ada", String(Deno.uid())],
  );
});

leakless("folders are made with their modes, and credentials are copied for the run", async () => {
  const lines = await printed(
    'echo "$STATE_DIRECTORY"; stat -c %a "$STATE_DIRECTORY" "$CREDENTIALS_DIRECTORY" ' +
      '"$CREDENTIALS_DIRECTORY/key"; cat "$CREDENTIALS_DIRECTORY/key"; umask',
    "StateDirectory=fleetctl/x\nStateDirectoryMode=0750\nLoadCredential=key:{root}/secret\n" +
      "UMask=0077",
    { secret: "value\n" },
  );
  assert.deepEqual(lines, ["{root}/var/lib/fleetctl/x", "750", "700", "400", "value", "0077"]);
});

leakless("credentials are deleted after the run, and missing files are named", async () => {
  await using rig = await startRig();
  await Deno.writeTextFile(rig.path("secret"), "value");
  await rig.write({
    "a.service": shell("true", `Type=oneshot\nLoadCredential=key:${rig.root}/secret`),
    "b.service": shell("true", `LoadCredential=key:${rig.root}/none`),
    "c.service": shell("true", `EnvironmentFile=${rig.root}/none.env`),
    "d.service": shell("true", `EnvironmentFile=${rig.root}/bad.env`),
    "e.service": shell("true", `WorkingDirectory=${rig.root}/none`),
  });
  await Deno.writeTextFile(rig.path("bad.env"), 'TOKEN="hunter2\n');
  await rig.manager.start("a.service");
  const folder = `${rig.paths.managerState}/credentials/a.service`;
  await rig.until((event) => event.kind === "exited");
  await assert.rejects(Deno.lstat(folder), Deno.errors.NotFound);
  const faults: readonly (readonly [string, RegExp])[] = [
    ["b.service", /resources the credential file ".*\/none" does not exist$/],
    ["c.service", /resources the environment file ".*\/none.env" does not exist$/],
    ["d.service", /resources the environment file ".*\/bad.env" is unusable: line 1: /],
    ["e.service", /resources the working directory ".*\/none" does not exist$/],
  ];
  for (const [unit, message] of faults) {
    await assert.rejects(rig.manager.start(unit), (thrown) => {
      assert(thrown instanceof Error);
      assert.match(thrown.message, message);
      assert.doesNotMatch(thrown.message, /hunter2/);
      return true;
    });
  }
});

leakless("ExecStartPre runs first, and its failure ends the start unless it may fail", async () => {
  const before = "ExecStartPre=/bin/echo before\nExecStartPre=-/bin/false";
  assert.deepEqual(await printed("echo main", before), ["before", "main"]);
  await using rig = await startRig({ "b.service": shell("echo main", "ExecStartPre=/bin/false") });
  await assert.rejects(rig.manager.start("b.service"), /exit-code 1/);
  assert.equal((await rig.manager.journal("b.service", 9)).includes("main"), false);
});
