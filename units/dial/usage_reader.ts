/**
 * The usage of one agent, read from the stores of all its gateways. An agent whose channel was
 * changed has a store that no connection uses; its rows count too.
 *
 * @module
 */

import type { LocalAnswer, LocalRequest } from "core/dial/local_frames.ts";
import type { UsageOfModel } from "core/dial/usage_shapes.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import { USAGE_LIMITS } from "core/limits/usage.ts";
import type { Databases } from "core/ports/databases.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RunningTurn } from "units/dial/running_spend.ts";
import { wrongAgent } from "units/dial/local_approvals.ts";
import {
  openUsageTable,
  USAGE_TABLE,
  type UsagePeriod,
  type UsageSums,
  type UsageTable,
} from "units/dial/usage_table.ts";

/** Reads the usage of the agent. */
export interface UsageReader {
  /** Sums a period. Refuses one whose answer would be too long, and an unreadable store. */
  sum(period: UsagePeriod): Promise<Result<UsageSums>>;
}

/** Stores that a dial unit may have: of the cockpit, of team chat, and without a gateway. */
const STORE_NAMES = ["dial.db", "teamchat.db", "local.db"] as const;
/** File name of a store. */
export type StoreName = typeof STORE_NAMES[number];

/** Where the stores are. */
export interface UsageReaderDeps {
  readonly files: Pick<Files, "stat">;
  readonly databases: Databases;
  readonly folder: string;
  /** The usage of the stores that are in use. */
  readonly open: ReadonlyMap<StoreName, Pick<UsageTable, "sum">>;
}

/** Creates the reader. */
export function createUsageReader(deps: UsageReaderDeps): UsageReader {
  const rowsMax = USAGE_LIMITS.answerRowsMax;
  return {
    async sum(period) {
      const sums: UsageSums[] = [];
      try {
        for (const name of STORE_NAMES) {
          const found = await sumOf(name, period, deps);
          if (found !== undefined) sums.push(found);
        }
      } catch (thrown) {
        if (!(thrown instanceof FileFault)) throw thrown;
        return err(unreadable(thrown));
      }
      const days = sums.flatMap((of) => of.days);
      const models = sums.flatMap((of) => of.models);
      return Math.max(days.length, models.length) > rowsMax ? err(tooLong()) : ok({ days, models });
    },
  };
}

async function sumOf(
  name: StoreName,
  period: UsagePeriod,
  { files, databases, folder, open }: UsageReaderDeps,
): Promise<UsageSums | undefined> {
  const limit = USAGE_LIMITS.answerRowsMax + 1;
  const table = open.get(name);
  if (table !== undefined) return table.sum(period, limit);
  const path = `${folder}/${name}`;
  if (await files.stat(path) === undefined) return undefined;
  const db = await databases.open(path);
  try {
    db.exec(USAGE_TABLE);
    return openUsageTable(db).sum(period, limit);
  } finally {
    db.close();
  }
}

/** Answers a request on the local socket. */
export async function answerUsage(
  request: Extract<LocalRequest, { type: "usage" }>,
  usage: UsageReader,
  { agent, running }: {
    readonly agent: string;
    /** What the running turns have used. */
    readonly running: readonly RunningTurn[];
  },
): Promise<LocalAnswer> {
  if (request.agent !== agent) return errorLine(wrongAgent(request.agent, agent));
  const sums = await usage.sum(request);
  if (!sums.ok) return errorLine(sums.error);
  const { days, models } = sums.value;
  const open = request.with_running === true ? running.flatMap(rowsOf) : [];
  return { type: "usage_result", agent, days: [...days], models: [...models, ...open] };
}

/** Returns a row for each model of a running turn, which counts as no turn yet. */
function rowsOf({ day, used }: RunningTurn): readonly UsageOfModel[] {
  return used.map(({ model, tokens: { input, output, cachedRead, cachedWrite } }) => ({
    day,
    model,
    turns: 0,
    partial_turns: 0,
    input_tokens: input,
    output_tokens: output,
    cached_read_tokens: cachedRead,
    cached_write_tokens: cachedWrite,
    largest_input_tokens: input + cachedRead + cachedWrite,
  }));
}

function errorLine({ code, message }: Refusal): LocalAnswer {
  return { type: "error", code, message };
}

function tooLong() {
  return refusal(
    "usage-too-long",
    `Cannot sum the usage: it has more than ${USAGE_LIMITS.answerRowsMax} rows of a day and a ` +
      "model, must have fewer",
  );
}

function unreadable(fault: FileFault) {
  return refusal("usage-unreadable", `Cannot read the usage: ${errorText(fault)}`);
}
