/**
 * A roster that changes under a running gateway: 5,000 agents, and 200 open pages, half of them of
 * admins. From the moment the file is replaced until the pages have the change. The gateway is a
 * separate process. `./dev bench roster`
 *
 * @module
 */

import { parseRosterFile } from "core/access/roster_file.ts";
import { createParser } from "eventsource-parser";
import { quantile } from "tests/bench/measure.ts";
import { startGatewayProcess } from "tests/support/gateway_process.ts";

const AGENTS = 5_000;
const PAGES = 200;
const ADMINS = 100;
const ROUNDS = 20;
const READS = 50;

interface Names {
  readonly ledger: Record<string, string>;
  readonly admins: string[];
}

/** An open page: hands over each event of its stream. */
interface OpenPage {
  /** Resolves with the next event of this kind. */
  next(event: string): Promise<void>;
  close(): void;
}

const emailOf = (n: number) => `agent-${n}@example.org`;

function rosterOf(agents: number): Names {
  const all = Array.from({ length: agents }, (_, n) => n);
  return {
    ledger: Object.fromEntries(all.map((n) => [emailOf(n), `agent-${n}`])),
    admins: all.slice(0, ADMINS).map((n) => `agent-${n}`),
  };
}

async function openPage(cockpit: string, email: string): Promise<OpenPage> {
  const abort = new AbortController();
  const response = await fetch(`${cockpit}/events?topics=agents`, {
    headers: { "x-user-email": email },
    signal: abort.signal,
  });
  if (response.status !== 200 || response.body === null) throw new Error(`${response.status}`);
  const waiting = new Map<string, () => void>();
  const parser = createParser({ onEvent: ({ event = "" }) => waiting.get(event)?.() });
  const ready = new Promise<void>((resolve) => waiting.set("agents", resolve));
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      parser.feed(decoder.decode(chunk, { stream: true }));
    }
  })();
  reading.catch(() => {/* the page was closed */});
  await ready;
  return {
    next: (event) => new Promise((resolve) => waiting.set(event, resolve)),
    close: () => abort.abort(),
  };
}

/** Measures, and prints the rows of `docs/benchmarks.md`. */
export async function benchRoster(): Promise<void> {
  const root = await Deno.makeTempDir({ dir: ".cache", prefix: "bench-roster-" });
  const file = `${await Deno.realPath(root)}/roster.json`;
  const replace = async (names: Names) => {
    await Deno.writeTextFile(`${file}.new`, JSON.stringify(names));
    await Deno.rename(`${file}.new`, file);
    return performance.now();
  };
  const names = rosterOf(AGENTS);
  await replace(names);
  const gateway = await startGatewayProcess(root, { WEBVIEW_LEDGER: file, WEBVIEW_ADMINS: file });
  const pages: OpenPage[] = [];
  try {
    for (let n = 0; n < PAGES; n++) pages.push(await openPage(gateway.cockpit, emailOf(n)));
    const admins = pages.slice(0, ADMINS);
    const added: number[] = [];
    const removed: number[] = [];
    const more = { ...names, ledger: { ...names.ledger, "new@example.org": "new" } };
    for (let round = 0; round < ROUNDS; round++) {
      const shown = Promise.all(admins.map((page) => page.next("agent")));
      let at = await replace(more);
      await shown;
      added.push(performance.now() - at);
      const gone = Promise.all(admins.map((page) => page.next("agent_removed")));
      at = await replace(names);
      await gone;
      removed.push(performance.now() - at);
    }
    const cut = pages.at(-1)!.next("closing");
    const { [emailOf(PAGES - 1)]: _former, ...left } = names.ledger;
    const at = await replace({ ...names, ledger: left });
    await cut;
    const cutAfter = performance.now() - at;
    const text = await Deno.readTextFile(file);
    const reads = Array.from({ length: READS }, () => {
      const from = performance.now();
      parseRosterFile(text);
      return performance.now() - from;
    });
    console.log("| subject | p50 ms | slowest ms |\n|---|---|---|");
    const print = (name: string, all: readonly number[]) =>
      console.log(
        `| ${name} | ${quantile(all, 0.5).toFixed(0)} | ${Math.max(...all).toFixed(0)} |`,
      );
    print(`an added agent is on the pages of ${ADMINS} admins`, added);
    print("a removed agent is gone from them", removed);
    print("the page of a removed owner is cut off", [cutAfter]);
    print(`reading the file of ${AGENTS} agents`, reads);
  } finally {
    for (const page of pages) page.close();
    await gateway.kill();
    await Deno.remove(root, { recursive: true });
  }
}
