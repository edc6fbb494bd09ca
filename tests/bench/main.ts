/**
 * `./dev bench [name]`: the numbers of `docs/benchmarks.md`, with their peers in the same run.
 *
 * @module
 */

import { benchApply } from "tests/bench/apply.ts";
import { benchAsleep } from "tests/bench/asleep.ts";
import { benchCalls } from "tests/bench/calls.ts";
import { benchCatalog } from "tests/bench/catalog.ts";
import { benchDaemon } from "tests/bench/daemon.ts";
import { benchFirstToken } from "tests/bench/first_token.ts";
import { benchHelp } from "tests/bench/help.ts";
import { benchHosts } from "tests/bench/hosts.ts";
import { benchJournal } from "tests/bench/journal.ts";
import { readTicks, stolenPercent } from "tests/bench/measure.ts";
import { benchPage } from "tests/bench/page.ts";
import { benchRoster } from "tests/bench/roster.ts";
import { benchSocket } from "tests/bench/socket.ts";
import { benchLogin } from "tests/bench/login/main.ts";
import {
  benchTeamchat,
  benchTeamchatAccept,
  benchTeamchatAgents,
  benchTeamchatEcho,
  benchTeamchatRelay,
} from "tests/bench/teamchat/main.ts";
import { benchTeamchatTable } from "tests/teamchat/sdks/table.ts";
import { benchTurn } from "tests/bench/turn.ts";
import { benchMemory, benchUp } from "tests/bench/up.ts";

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  apply: benchApply,
  asleep: benchAsleep,
  calls: benchCalls,
  catalog: benchCatalog,
  "first-token": benchFirstToken,
  help: benchHelp,
  hosts: benchHosts,
  journal: benchJournal,
  page: benchPage,
  roster: benchRoster,
  socket: benchSocket,
  login: benchLogin,
  up: benchUp,
  turn: benchTurn,
  memory: benchMemory,
  daemon: benchDaemon,
  teamchat: benchTeamchat,
  "teamchat-accept": benchTeamchatAccept,
  "teamchat-agents": benchTeamchatAgents,
  "teamchat-echo": benchTeamchatEcho,
  "teamchat-relay": benchTeamchatRelay,
  "teamchat-table": benchTeamchatTable,
};

const wanted = Deno.args.length === 0 ? Object.keys(BENCHES) : Deno.args;
for (const name of wanted) {
  const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
  if (bench === undefined) {
    console.error(`dev: Cannot measure "${name}": there are ${Object.keys(BENCHES).join(", ")}`);
    Deno.exit(2);
  }
  console.log(`\n## ${name}\n`);
  const before = await readTicks();
  await bench();
  const stolen = stolenPercent(before, await readTicks()).toFixed(0);
  console.log(`\nOther guests of the hardware took ${stolen} % of the processor time meanwhile.`);
}
