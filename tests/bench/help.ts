/**
 * Times `fleetctl --help`, an empty Deno program and `node -e 0`, alternating in one run.
 * `./dev bench help`
 *
 * @module
 */

import { inTurn, printTable, runProgram, type Subject } from "tests/bench/measure.ts";
import { programPath } from "tests/support/machine.ts";
import { makeRoot, runDev } from "tests/support/up_process.ts";

const ROUNDS = 30;

/** Prepares a root, then times the programs directly, without `./dev` around them. */
export async function benchHelp(): Promise<void> {
  const root = await makeRoot();
  const prepared = await runDev(["run", "fleetctl", "--version"], { env: { FLEETCTL_ROOT: root } });
  if (prepared.code !== 0) throw new Error(prepared.stderr);
  const empty = `${root}/empty.ts`;
  await Deno.writeTextFile(empty, "");
  const deno = Deno.execPath();
  const node = await programPath("node");
  const subjects: Subject[] = [
    {
      name: "empty Deno program",
      run: () => runProgram(deno, ["run", "-q", "--no-config", empty]),
    },
    {
      name: "fleetctl --help (from the tree)",
      run: () =>
        runProgram(`${root}/usr/lib/fleetctl/fleetctl`, ["--help"], { FLEETCTL_ROOT: root }),
    },
  ];
  if (node !== undefined) {
    subjects.push({ name: "node -e 0", run: () => runProgram(node, ["-e", "0"]) });
  }
  printTable(await inTurn(subjects, ROUNDS));
  await Deno.remove(root, { recursive: true });
}
