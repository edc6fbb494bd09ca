/**
 * `./dev bench teamchat`: fleetctl's gateway and the vendor's host, `@microsoft/agents-hosting` on
 * Express, in one run. Measures accepting, echoing through the connector, relaying to WebSocket
 * agents at a steady pace, and the memory of 5,000 agents. Fleetctl's gateway writes to disk before
 * it accepts; the peer writes nothing.
 *
 * @module
 */

import { accepting } from "tests/bench/teamchat/accept.ts";
import { echoing } from "tests/bench/teamchat/echo.ts";
import { registering } from "tests/bench/teamchat/memory.ts";
import { relaying } from "tests/bench/teamchat/relay.ts";
import { installSdks } from "tests/teamchat/sdks/subjects.ts";
import { startWorld, type World } from "tests/teamchat/sdks/world.ts";

type Part = (world: World) => Promise<void>;

async function run(...parts: readonly Part[]): Promise<void> {
  await installSdks();
  await using world = await startWorld();
  for (const part of parts) {
    await part(world);
    console.log("");
  }
}

/** Runs the bench. */
export const benchTeamchat = () => run(accepting, echoing, relaying, registering);
/** Accepting only, fleetctl's gateway and the peer. */
export const benchTeamchatAccept = () => run(accepting);
/** Echoing only, fleetctl's gateway and the peer. */
export const benchTeamchatEcho = () => run(echoing);
/** Relaying at a steady pace only, fleetctl's gateway and the peer. */
export const benchTeamchatRelay = () => run(relaying);
/** Only the last part: how fast many agents connect, and the cost of each. */
export const benchTeamchatAgents = () => run(registering);
