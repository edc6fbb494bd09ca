/**
 * What the journal of a turn adds to a tool call of the built-in runtime: the same call with and
 * without a journal, in turn, with a session file on the same disk. The tool answers at once. The
 * peer is one synced append to an open file. `./dev bench journal`
 *
 * @module
 */

import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { inTurn, quantile } from "tests/bench/measure.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { silentSink } from "tests/fakes/turn_sink.ts";
import { createConversation } from "units/agent_loop/conversation/store.ts";
import { createJournals, NO_JOURNAL, type TurnJournal } from "units/agent_loop/journal/files.ts";
import { createMediaStore } from "units/agent_loop/media/store.ts";
import { parseJournal } from "units/agent_loop/journal/record.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { runCalls } from "units/agent_loop/turn/run_calls.ts";

const ROUNDS = 2_000;

const TOOL: Tool = {
  name: "look",
  description: "",
  inputSchema: { type: "object" },
  mcp: "bench",
  tool: "look",
  kind: "read",
  isConcurrent: false,
  run: () => Promise.resolve({ status: "completed", text: "done" }),
};

/** Returns a function that makes one call; each has another id, as in a turn. */
async function caller(folder: string) {
  const ports = { files: denoFiles(), clock: systemClock(), log: recordingLog() };
  const opened = await createConversation(folder, { id: "session-1", cwd: folder }, ports);
  if (!opened.ok) throw new Error(opened.error.message);
  const owner = { turnId: "t1", session: "session-1" };
  const found = parseJournal(undefined, { agent: "ada", ...owner });
  const journal = await createJournals(`${folder}/journal`, "ada", ports).open(owner, found);
  const shared = {
    tools: [TOOL],
    conversation: opened.value,
    sink: silentSink(),
    media: createMediaStore(`${folder}/media`, ports),
    signal: new AbortController().signal,
    clock: ports.clock,
    step: 0,
    isEnding: () => false,
  };
  let calls = 0;
  return async (kept: "journal" | "none") => {
    const call_id = `call-${++calls}`;
    const part = { type: "call", call_id, tool: "look", arguments: { n: calls } } as const;
    const used: TurnJournal = kept === "journal" ? journal : NO_JOURNAL;
    await runCalls({ calls: [part], badCalls: [] }, { ...shared, journal: used });
  };
}

/** Measures, and prints the rows of `docs/benchmarks.md`. */
export async function benchJournal(): Promise<void> {
  // The folder for temporary files may be in memory.
  const folder = await Deno.makeTempDir({ dir: ".cache", prefix: "bench-journal-" });
  const bare = await Deno.open(`${folder}/bare`, { create: true, append: true });
  const line = new TextEncoder().encode(`${"x".repeat(99)}\n`);
  try {
    const call = await caller(folder);
    const times = await inTurn([
      {
        name: "one synced append to an open file",
        run: async () => {
          await bare.write(line);
          await bare.syncData();
        },
      },
      { name: "a call without a journal", run: () => call("none") },
      { name: "a call with a journal", run: () => call("journal") },
    ], ROUNDS);
    const rows = [...times].map(([name, all]) =>
      [name, quantile(all, 0.5), quantile(all, 0.99)] as const
    );
    const [, without, with_] = rows;
    console.log("| subject | p50 ms | p99 ms |\n|---|---|---|");
    const print = (name: string, p50: number, p99: number) =>
      console.log(`| ${name} | ${p50.toFixed(2)} | ${p99.toFixed(2)} |`);
    for (const row of rows) print(...row);
    print("added", with_![1] - without![1], with_![2] - without![2]);
  } finally {
    bare.close();
    await Deno.remove(folder, { recursive: true });
  }
}
