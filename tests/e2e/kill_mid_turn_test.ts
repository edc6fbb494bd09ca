/**
 * `kill -9` of each part in mid-turn: no event is lost or duplicated, the turn ends with a stated
 * outcome, and the next turn works. A tool that reads a FIFO holds the turn open, so the kill
 * happens in the middle for certain.
 *
 * @module
 */

import assert from "node:assert/strict";
import { processesOf } from "tests/support/processes_of.ts";
import {
  makeRepository,
  makeRoot,
  runDev,
  startUp,
  type UpProcess,
  workspaceRepository,
} from "tests/support/up_process.ts";

interface Held {
  readonly fifo: string;
  /** The running `up --turn`. */
  readonly done: Promise<{ code: number; text: string }>;
  /** Resolves when the tool call is shown. */
  readonly called: Promise<void>;
  /** Lets the blocked tool finish. */
  release(): Promise<void>;
}

async function makeFifo(path: string): Promise<void> {
  const made = await new Deno.Command("mkfifo", { args: [path] }).output();
  assert.ok(made.success);
}

/** Starts a turn whose `bash` tool blocks until data is written to the FIFO. */
async function holdTurn(up: UpProcess, name: string): Promise<Held> {
  const fifo = `${up.root}/${name}.fifo`;
  await makeFifo(fifo);
  const child = new Deno.Command(new URL("../../dev", import.meta.url).pathname, {
    args: [
      "up",
      "--root",
      up.root,
      "--turn",
      `call bash {"command":"read word < ${fifo}; echo got $word"}`,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { FLEETCTL_DENO_DIR: Deno.env.get("DENO_DIR") ?? "" },
  }).spawn();
  let text = "";
  let seen: () => void = () => {};
  const called = new Promise<void>((resolve) => seen = resolve);
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes("→ bash")) seen();
    }
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const done = child.status.then(async ({ code }) => {
    await reading;
    return { code, text };
  });
  await Promise.race([
    called,
    done.then((end) => {
      throw new Error(`the turn ended before its tool was called:\n${end.text}\n${up.text()}`);
    }),
  ]);
  return {
    fifo,
    done,
    called,
    async release() {
      await Deno.writeTextFile(fifo, "word\n");
    },
  };
}

/** Kills the process of this root whose command matches; returns its pid. */
async function killPart(up: UpProcess, pattern: RegExp): Promise<number> {
  const lines = (await processesOf(up.root)).filter((line) => pattern.test(line));
  assert.ok(
    lines.length >= 1,
    `no process matches ${pattern}:\n${(await processesOf(up.root)).join("\n")}`,
  );
  const pids = lines.map((line) => Number(line.split(" ")[0]));
  for (const pid of pids) Deno.kill(pid, "SIGKILL");
  return pids[0] ?? 0;
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

async function nextTurnWorks(up: UpProcess): Promise<void> {
  const turn = await runDev([
    "up",
    "--root",
    up.root,
    "--turn",
    'call bash {"command":"echo alive"}',
  ]);
  assert.equal(turn.code, 0, `${turn.stdout}${turn.stderr}\n${up.text()}`);
  assert.equal(count(turn.stdout, /← completed/g), 1, turn.stdout);
  assert.match(turn.stdout, /alive/);
}

Deno.test("kill -9 of the gateway in mid-turn: each event arrives once", async () => {
  await using up = startUp(await makeRoot());
  await up.line(/^ready /);
  const held = await holdTurn(up, "gateway");
  await killPart(up, /gateway\/main\.ts|fleetctl-gateway/);
  await up.line(/gateway.*(restart|ready again|up again)/i);
  await held.release();
  const end = await held.done;
  assert.equal(end.code, 0, end.text);
  assert.equal(count(end.text, /→ bash/g), 1, end.text);
  assert.equal(count(end.text, /← completed/g), 1, end.text);
  assert.match(end.text, /got word/);
  await nextTurnWorks(up);
});

for (
  const [part, pattern] of [
    ["dial unit", /units\/dial\/main\.ts|fleetctl-dial(?!-bea).*ada/],
    ["runtime", /agent_loop\/main\.ts|fleetctl-runtime/],
  ] as const
) {
  Deno.test(`kill -9 of the ${part} in mid-turn: it goes on, its call is unknown`, async () => {
    await using up = startUp(await makeRoot());
    await up.line(/^ready /);
    const held = await holdTurn(up, "held");
    await killPart(up, pattern);
    const end = await held.done;
    assert.equal(end.code, 0, end.text);
    assert.match(end.text, /The turn continues/);
    assert.match(end.text, /unknown whether bash took effect/);
    assert.equal(count(end.text, /→ bash/g), 1, end.text);
    await nextTurnWorks(up);
  });
}

Deno.test("kill -9 of an MCP server in mid-call: the call fails, the turn ends", async () => {
  const root = await makeRoot();
  const repository = workspaceRepository(root);
  await makeRepository(repository, "held");
  await using up = startUp(root);
  await up.line(/^ready /);
  // git blocks on reading HEAD, so the call stays open until the test writes to it.
  await Deno.remove(`${repository}/.git/HEAD`);
  await makeFifo(`${repository}/.git/HEAD`);
  const turn = runDev(["up", "--root", root, "--turn", `last commit of ${repository}`]);
  // The first connection starts the server; opening the FIFO for writing waits for its reader.
  const writer = await Deno.open(`${repository}/.git/HEAD`, { write: true });
  await killPart(up, /git-mcp-server/);
  writer.close();
  const end = await turn;
  assert.equal(count(end.stdout, /→ git\.git_log/g), 1, end.stdout);
  assert.equal(count(end.stdout, /← failed/g), 1, end.stdout + end.stderr);
  assert.equal(end.code, 0, end.stdout + end.stderr);
  await Deno.remove(`${repository}/.git/HEAD`);
  await Deno.writeTextFile(`${repository}/.git/HEAD`, "ref: refs/heads/main\n");
  const again = await runDev(["up", "--root", root, "--turn", `last commit of ${repository}`]);
  assert.equal(again.code, 0, again.stdout + again.stderr);
  assert.match(again.stdout, /held/);
});
