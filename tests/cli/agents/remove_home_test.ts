/**
 * The content of an agent's home cannot block other users' verbs: not a file larger than any disk,
 * not a home that does not fit, not one that takes long. An interrupted removal continues later.
 *
 * @module
 */

import assert from "node:assert/strict";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { pathsUnder } from "core/paths.ts";
import type { Processes } from "core/ports/processes.ts";
import { runFleetctl } from "tests/support/script.ts";

const HOLE_BYTES = 8 * 2 ** 40;
const ARCHIVE = ["agents", "remove", "ada", "--yes", "--home", "archive"];
const KEEP = ["agents", "remove", "ada", "--yes", "--home", "keep"];
const BROWSER =
  "name: browser\nsummary: None\nsource:\n  builtin: agent-message\nauth: none\nscope: per_user\n";

/** A root with agent `ada`, whose home holds a note. */
async function withAda(
  work: (at: {
    readonly root: string;
    readonly home: string;
    readonly run: (
      argv: readonly string[],
      processes?: Processes,
    ) => ReturnType<typeof runFleetctl>;
    readonly archives: () => Promise<readonly string[]>;
  }) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  try {
    const paths = pathsUnder(root);
    await Deno.mkdir(`${paths.state}/repo/catalog/browser`, { recursive: true });
    await Deno.writeTextFile(`${paths.state}/repo/catalog/browser/mcp.yaml`, BROWSER);
    const run = (argv: readonly string[], processes?: Processes) =>
      runFleetctl(argv, { root, ...(processes === undefined ? {} : { ports: { processes } }) });
    const added = await run(["agents", "add", "ada", "--channel", "webview"]);
    assert.equal(added.code, 0, added.stderr);
    await Deno.writeTextFile(`${paths.home("ada")}/note`, "mine\n");
    const archives = () => denoFiles().list(paths.archiveDir);
    await work({ root, home: paths.home("ada"), run, archives });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/**
 * The machine's programs, except those whose script contains `word`: `answer` handles these first.
 */
function programs(
  word: string,
  answer: (argv: readonly string[]) => Promise<string | undefined>,
): Processes {
  const real = systemProcesses();
  return {
    ...real,
    run: async (spec) => {
      const stdout = spec.args.some((arg) => arg.includes(word))
        ? await answer(spec.args)
        : undefined;
      if (stdout === undefined) return await real.run(spec);
      return { code: 0, signal: undefined, stdout, stderr: "", truncated: false, timedOut: false };
    },
  };
}

Deno.test("agents remove --home archive reads only the data of a sparse file", () =>
  withAda(async ({ root, home, run, archives }) => {
    await Deno.truncate(`${home}/note`, HOLE_BYTES);
    const removed = await run(ARCHIVE);
    assert.equal(removed.code, 0, removed.stderr);
    const [file] = await archives();
    const { size } = await Deno.stat(`${pathsUnder(root).archiveDir}/${file}`);
    assert.ok(size < 10_000, `${size} bytes`);
  }));

Deno.test("agents remove refuses a home that does not fit before it changes anything", () =>
  withAda(async ({ root, run }) => {
    const full = programs("du --summarize", () => Promise.resolve("8000000000\n9000000000\n"));
    const refused = await run(ARCHIVE, full);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /Cannot archive the home of agent "ada": its size is 8000 MB, must be at most 7200 MB/,
    );
    assert.match(refused.stderr, /hint: fleetctl agents remove ada --yes --home keep/);
    assert.equal((await run(["agents", "show", "ada"])).code, 0);
    assert.deepEqual(await denoFiles().list(`${pathsUnder(root).state}/removing`), []);
    assert.equal((await run(KEEP, full)).code, 0);
  }));

Deno.test("an archive uses at most the measured free space, and leaves no partial file", () =>
  withAda(async ({ home, run, archives }) => {
    await Deno.writeFile(`${home}/noise`, crypto.getRandomValues(new Uint8Array(60_000)));
    const little = programs("du --summarize", () => Promise.resolve("1\n20000\n"));
    const cut = await run(ARCHIVE, little);
    assert.equal(cut.code, 1);
    assert.match(cut.stderr, /Cannot archive the home of agent "ada": tar ended with/);
    assert.deepEqual(await archives(), []);
    // An interrupted removal can be finished in another mode on request.
    const kept = await run(KEEP);
    assert.equal(kept.code, 0, kept.stderr);
    assert.equal(await Deno.readTextFile(`${home}/note`), "mine\n");
  }));

Deno.test("other verbs run while a home is archived, and the home is removed once", () =>
  withAda(async ({ run }) => {
    const meanwhile: [number, string][] = [];
    const slow = programs("nice tar", async () => {
      const others = [["agents", "add", "bea", "--channel", "webview"], ARCHIVE, [
        "agents",
        "add",
        "ada",
        "--channel",
        "webview",
      ]];
      for (const argv of others) {
        const { code, stderr } = await run(argv);
        meanwhile.push([code, stderr.split("\n")[0] ?? ""]);
      }
      return undefined;
    });
    const removed = await run(ARCHIVE, slow);
    assert.equal(removed.code, 0, removed.stderr);
    assert.deepEqual(meanwhile, [
      [0, "warning: no service manager is running: files were written, nothing was started"],
      [
        1,
        'fleetctl: Cannot remove agent "ada": another removal of it is under way, must end first',
      ],
      [1, 'fleetctl: Cannot add agent "ada": its removal is not finished'],
    ]);
  }));

Deno.test("a removal that was interrupted after its archive resumes without a second archive", () =>
  withAda(async ({ home, run, archives }) => {
    const dying = programs("-delete", () => Promise.reject(new Error("the power went")));
    assert.match((await run(ARCHIVE, dying)).stderr, /the power went/);
    const before = await archives();
    assert.equal(before.length, 1);
    await Deno.remove(`${home}/note`);
    const removed = await run(KEEP);
    assert.equal(removed.code, 0, removed.stderr);
    assert.match(removed.stdout, /its home is in ".*\/archive\/ada-/);
    assert.deepEqual(await archives(), before);
    await assert.rejects(Deno.lstat(home), Deno.errors.NotFound);
  }));
