/**
 * Wrong owners and modes of the product's own files, and their repair.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { memoryUsers } from "tests/fakes/users.ts";
import { describeState, isWrong, repairPaths, wrongPaths } from "units/reconcile/own_state.ts";

const PATHS = pathsUnder("/");
const ADA = { uid: 1001, gid: 1001 };
const BOB = { uid: 1002, gid: 1002 };
const GATEWAY = { uid: 901, gid: 901 };
const GROUPS = "root:x:0:\nada:x:1001:\nbob:x:1002:\nfleetctl-gateway:x:901:\n";

async function scene(currentUid = 0) {
  const files = memoryFiles({
    "/etc/group": GROUPS,
    [PATHS.agentEnv("ada")]: "KEY=value\n",
    [PATHS.rolesFile]: "daemon: true\n",
    [PATHS.secretsFile]: "sealed",
    [`${PATHS.role("gateway")}/gateway.db`]: "db",
  });
  await files.setMeta(PATHS.agentEnv("ada"), { mode: 0o640, uid: 0, gid: ADA.gid });
  await files.setMeta(PATHS.secretsFile, { mode: 0o600 });
  await files.setMeta(PATHS.role("gateway"), { mode: 0o700, ...GATEWAY });
  await files.setMeta(`${PATHS.role("gateway")}/gateway.db`, { mode: 0o600, ...GATEWAY });
  const owned: string[] = [];
  const ports = {
    files,
    users: memoryUsers({
      currentUid,
      users: [
        { name: "ada", ...ADA, home: "/home/ada" },
        { name: "bob", ...BOB, home: "/home/bob" },
        { name: "fleetctl-gateway", ...GATEWAY, home: "/" },
      ],
    }),
    processes: fakeProcesses({ chown: ({ args }) => void owned.push(args.join(" ")) }),
  };
  const found = async () => await describeState(ports, await wrongPaths(ports, PATHS));
  return { files, ports, owned, found };
}

Deno.test("a freshly installed host has no fault", async () => {
  assert.deepEqual(await (await scene()).found(), []);
});

Deno.test("a restored env file of a foreign group is exposed, and repaired", async () => {
  const { files, ports, found } = await scene();
  const path = PATHS.agentEnv("ada");
  await files.setMeta(path, { gid: BOB.gid });
  const [problem, ...others] = await found();
  assert.deepEqual(others, []);
  assert.equal(problem?.code, "state-exposed");
  assert.equal(problem?.message, `"${path}" is root:bob 0640, must be root:ada 0640 at most`);
  assert.deepEqual(problem?.hints, ["fleetctl apply"]);
  await repairPaths(ports, PATHS);
  const { uid, gid, mode } = (await files.stat(path))!;
  assert.deepEqual({ uid, gid, mode }, { uid: 0, gid: ADA.gid, mode: 0o640 });
  assert.deepEqual(await found(), []);
});

Deno.test("a database of another owner is repaired without following links", async () => {
  const { files, ports, owned, found } = await scene();
  await files.setMeta(`${PATHS.role("gateway")}/gateway.db`, { uid: 0, gid: 0 });
  const [problem] = await found();
  assert.equal(problem?.code, "state-owner-wrong");
  assert.match(problem?.message ?? "", /gateway\.db" is root:root 0600, must be fleetctl-gateway:/);
  await repairPaths(ports, PATHS);
  assert.deepEqual(owned, [`-R -h -P 901:901 -- ${PATHS.role("gateway")}`]);
});

Deno.test("a file that others may write is a fault, and a stricter mode is not", async () => {
  const { files, found } = await scene();
  await files.setMeta(PATHS.rolesFile, { mode: 0o600 });
  assert.deepEqual(await found(), []);
  await files.setMeta(PATHS.rolesFile, { mode: 0o664 });
  assert.equal((await found())[0]?.code, "state-owner-wrong");
});

Deno.test("a caller other than root does not change owners", async () => {
  const { files, found } = await scene(1001);
  await files.setMeta(PATHS.secretsFile, { mode: 0o666 });
  assert.deepEqual(await found(), []);
});

Deno.test("the group of a file matters if it has more rights than others", () => {
  assert.equal(isWrong({ mode: 0o644, uid: 0, gid: 5 }, { uid: 0, gid: 0 }, 0o644), false);
  assert.equal(isWrong({ mode: 0o640, uid: 0, gid: 5 }, { uid: 0, gid: 0 }, 0o644), true);
  assert.equal(isWrong({ mode: 0o600, uid: 0, gid: 5 }, { uid: 0, gid: 0 }, 0o644), false);
  assert.equal(isWrong({ mode: 0o600, uid: 5, gid: 0 }, { uid: 0, gid: 0 }, 0o644), true);
});
