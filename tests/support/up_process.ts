/**
 * A real `./dev up` under a separate folder with free ports, for end-to-end tests: start it, wait
 * for its lines, run verbs against it, kill parts of it, stop it. Waits for events, never for a
 * fixed time.
 *
 * @module
 */

import { pathsUnder } from "core/paths.ts";
import { TREE } from "tests/support/module_graph.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";

const decoder = new TextDecoder();

/** Exit code and output of a finished command. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns the environment of a login shell, without the variables of the test run. */
export function plainEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = ["PATH", "HOME", "LANG", "TERM", "DENO_DIR"];
  const env: Record<string, string> = {};
  for (const name of kept) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  const denoDir = Deno.env.get("DENO_DIR");
  if (denoDir !== undefined) env.FLEETCTL_DENO_DIR = denoDir;
  return { ...env, ...more };
}

/** Runs `./dev` with the arguments until it ends. */
export async function runDev(
  args: readonly string[],
  options: {
    readonly env?: Record<string, string>;
    readonly stdin?: string;
    readonly cwd?: string;
  } = {},
): Promise<Finished> {
  const child = new Deno.Command(`${TREE}dev`, {
    args: [...args],
    cwd: options.cwd ?? TREE,
    clearEnv: true,
    env: plainEnv(options.env),
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (options.stdin !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.stdin));
    await writer.close();
  }
  const output = await child.output();
  return {
    code: output.code,
    stdout: decoder.decode(output.stdout),
    stderr: decoder.decode(output.stderr),
  };
}

/** Runs `fleetctl` against a root. */
export function runVerb(
  root: string,
  args: readonly string[],
  options: { readonly stdin?: string } = {},
): Promise<Finished> {
  return runDev(["run", "fleetctl", ...args], { ...options, env: { FLEETCTL_ROOT: root } });
}

/** Copies the prepared vendor cache into a root. */
export async function seedVendorCache(root: string): Promise<void> {
  const { vendorCache } = pathsUnder(root);
  await Deno.mkdir(vendorCache, { recursive: true });
  const folders = ENTRIES_OF_UP.map((name) => `${VENDOR_CACHE}/${name}`);
  const copied = await new Deno.Command("cp", { args: ["-a", ...folders, vendorCache] }).output();
  if (!copied.success) throw new Error(decoder.decode(copied.stderr));
}

/** The npm packages that Ada has by default. */
export const ENTRIES_OF_UP: readonly string[] = ["browser", "git"];

/** A running `up`. */
export interface UpProcess extends AsyncDisposable {
  readonly root: string;
  readonly pid: number;
  /** Returns everything printed so far, stdout and stderr in the order of arrival. */
  text(): string;
  /** Resolves with the first line that matches; rejects, with the output, when `up` ends before. */
  line(pattern: RegExp): Promise<string>;
  signal(name: "SIGINT" | "SIGTERM" | "SIGKILL"): void;
  readonly exited: Promise<number>;
  /** Sends SIGINT and waits; returns the exit code. */
  stop(): Promise<number>;
}

/**
 * Creates a folder for a root. Its path is short, because unix socket paths are limited. Its vendor
 * cache is a copy of the prepared one, so that MCPs install without a network.
 */
export async function makeRoot(): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "fu-" });
  await seedVendorCache(root);
  return root;
}

/** Starts `./dev up --root ROOT --port-base 0 …`. */
export function startUp(
  root: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): UpProcess {
  const child = new Deno.Command(`${TREE}dev`, {
    args: ["up", "--root", root, "--port-base", "0", ...args],
    cwd: TREE,
    clearEnv: true,
    env: plainEnv(env),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let printed = "";
  let ended = false;
  let wake: () => void = () => {};
  const changed = () => new Promise<void>((resolve) => wake = resolve);
  let next = changed();
  const notify = () => {
    const resolve = wake;
    next = changed();
    resolve();
  };
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) {
      printed += decoder.decode(chunk, { stream: true });
      notify();
    }
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const exited = (async () => {
    const status = await child.status;
    await reading;
    ended = true;
    notify();
    return status.code;
  })();
  const signal = (name: "SIGINT" | "SIGTERM" | "SIGKILL") => {
    try {
      child.kill(name);
    } catch {
      // It has already ended, as the signal intended.
    }
  };
  const stop = async () => {
    signal("SIGINT");
    return await exited;
  };
  return {
    root,
    pid: child.pid,
    text: () => printed,
    async line(pattern) {
      while (true) {
        const found = printed.split("\n").find((line) => pattern.test(line));
        if (found !== undefined) return found;
        if (ended) throw new Error(`up ended before a line matched ${pattern}:\n${printed}`);
        await next;
      }
    },
    signal,
    exited,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/** A line of a role's log. */
export interface LogLine extends Readonly<Record<string, unknown>> {
  readonly at: string;
  readonly event: string;
}

/** Returns how many lines a unit has logged, so that a test can wait for later lines only. */
export async function logLength(root: string, unit: string): Promise<number> {
  return (await readLog(root, unit)).length;
}

/** Resolves with the first line from index `from` that a unit logged and that `wanted` accepts. */
export async function logLine(
  root: string,
  unit: string,
  is: { readonly wanted: (line: LogLine) => boolean; readonly from?: number },
): Promise<LogLine> {
  // Start watching before the first read, so that no line is missed.
  const changes = Deno.watchFs(pathsUnder(root).logs);
  try {
    const find = async () => (await readLog(root, unit)).slice(is.from ?? 0).find(is.wanted);
    const found = await find();
    if (found !== undefined) return found;
    for await (const _ of changes) {
      const later = await find();
      if (later !== undefined) return later;
    }
    throw new Error(`the logs of ${root} are gone`);
  } finally {
    changes.close();
  }
}

async function readLog(root: string, unit: string): Promise<readonly LogLine[]> {
  const text = await Deno.readTextFile(`${pathsUnder(root).logs}/${unit}.log`).catch(() => "");
  return text.split("\n").flatMap((line) => {
    const json = line.slice(line.indexOf("{"));
    try {
      return [JSON.parse(json) as LogLine];
    } catch {
      return [];
    }
  });
}

/** Returns the path of a repository that ada's git can reach: below her workspace. */
export function workspaceRepository(root: string): string {
  return `${root}/home/ada/workspace/repo`;
}

/** Creates a git repository with one commit; returns its hash. */
export async function makeRepository(path: string, subject: string): Promise<string> {
  await Deno.mkdir(path, { recursive: true });
  const git = async (...args: readonly string[]) => {
    const output = await new Deno.Command("git", {
      args: ["-C", path, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args],
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (!output.success) throw new Error(decoder.decode(output.stderr));
    return decoder.decode(output.stdout).trim();
  };
  await git("init", "-q", "-b", "main");
  await Deno.writeTextFile(`${path}/README`, "hello\n");
  await git("add", "README");
  await git("commit", "-q", "-m", subject);
  return await git("rev-parse", "HEAD");
}
