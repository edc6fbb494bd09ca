/**
 * The child process of `repository_faults_test.ts`: it is one of several writers, dies at a chosen
 * step, or runs out of disk. Prints one line of JSON per finished change.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import { commitChange, initRepo } from "core/ledger/repository.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import type { AgentName } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { ok } from "core/result.ts";

/** The child's order, as JSON in its first argument. */
export type ChildOrder =
  /** Increments the number in a file `times` times. */
  | { readonly work: "count"; readonly root: string; readonly times: number }
  /** Writes two shards and dies before or during the n-th step. */
  | {
    readonly work: "die";
    readonly root: string;
    readonly step: number;
    readonly how: "before" | "within";
    readonly text: string;
  }
  /** Writes growing files until a change is refused. */
  | { readonly work: "fill"; readonly root: string };

/** Returns the paths of the two files that a `die` order writes. */
export function pairOf(paths: Paths): readonly [string, string] {
  return [paths.agentShard("one" as AgentName), paths.agentShard("two" as AgentName)];
}

/** Returns a change that sets both files to the same text. */
export function pairChange(paths: Paths, text: string) {
  return {
    verb: "agents set",
    caller: "root",
    summary: `both to ${text.length} characters`,
    edits: pairOf(paths).map((path) => ({ path, change: () => ok(text) })),
  };
}

const FILE_STEPS = ["write", "rename", "remove", "ensureDir", "lock"] as const;

/** Kills this process at its n-th disk operation. */
function dyingPorts(
  ports: LedgerPorts,
  step: number,
  how: "before" | "within",
): LedgerPorts {
  let done = 0;
  const die = () => Deno.kill(Deno.pid, "SIGKILL");
  const files = { ...ports.files };
  for (const name of FILE_STEPS) {
    const real = ports.files[name] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(files, {
      [name]: (...args: unknown[]) => {
        const isLast = ++done === step;
        if (isLast && how === "before") die();
        const result = real(...args);
        if (isLast) die();
        return result;
      },
    });
  }
  return {
    ...ports,
    files,
    processes: {
      ...ports.processes,
      run: (spec) => {
        const isLast = ++done === step;
        if (isLast && how === "before") die();
        const result = ports.processes.run(spec);
        if (isLast) die();
        return result;
      },
      spawn: (spec) => {
        const isLast = ++done === step;
        if (isLast && how === "before") die();
        const result = ports.processes.spawn(spec);
        if (isLast) die();
        return result;
      },
    },
  };
}

async function run(order: ChildOrder): Promise<void> {
  const host = openHost({ log: { program: "child", level: "error" } });
  const paths = pathsUnder(order.root);
  if (order.work === "count") {
    for (let time = 0; time < order.times; time++) {
      const done = await commitChange(host, paths, {
        verb: "count",
        caller: `child ${Deno.pid}`,
        summary: "one more",
        edits: [{
          path: `${paths.hostsDir}/count`,
          change: (text) => ok(`${Number(text ?? "0") + 1}\n`),
        }],
      });
      console.log(JSON.stringify(done));
    }
  } else if (order.work === "die") {
    const ports = dyingPorts(host, order.step, order.how);
    const done = await commitChange(ports, paths, pairChange(paths, order.text));
    console.log(JSON.stringify(done));
  } else {
    await fill(host, paths);
  }
}

/**
 * Fills the disk. Reports whether the last good state survived, and whether changes work again once
 * there is room.
 */
async function fill(host: LedgerPorts, paths: Paths): Promise<void> {
  await initRepo(host, paths);
  const room = `${paths.root}/room`;
  await Deno.writeFile(room, new Uint8Array(128 * 1024));
  let last = "";
  for (let length = 1024;; length = Math.ceil(length * 1.3)) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.min(length, 60_000)));
    const text = Array.from(bytes, (byte) => byte.toString(36)).join("").slice(0, length);
    const done = await commitChange(host, paths, pairChange(paths, text));
    console.log(JSON.stringify({ done }));
    if (done.ok) {
      last = text;
      continue;
    }
    const texts = await Promise.all(pairOf(paths).map((path) => Deno.readTextFile(path)));
    await Deno.remove(room);
    const next = await commitChange(host, paths, pairChange(paths, "small"));
    console.log(JSON.stringify({ isIntact: texts.every((each) => each === last), next }));
    return;
  }
}

if (import.meta.main) await run(JSON.parse(Deno.args[0] ?? "{}"));
