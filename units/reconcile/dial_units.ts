/**
 * Asks dial units over their local sockets whether their agents have a turn. The process behind a
 * socket is the agent's and may answer anything, so an answer only delays a replacement.
 *
 * @module
 */

import { query } from "core/dial/local_query.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Sockets } from "core/ports/sockets.ts";
import type { DialUnits } from "units/reconcile/ports.ts";

/** The answer has two short fields. */
const ANSWER_BYTES_MAX = 4 * 1024;

/** Returns the dial units of a host. */
export function dialUnits(
  { sockets, clock }: {
    readonly sockets: Pick<Sockets, "connectUnix">;
    readonly clock: Clock;
  },
  paths: Paths,
): DialUnits {
  return {
    isIdle: async (agent, { isDue, isBrief }) => {
      const connect = (path: string) => sockets.connectUnix(path);
      const target = { socket: paths.dialSocket(agent), connect, clock };
      const request = { type: "replace", agent, is_due: isDue, is_brief: isBrief } as const;
      const answer = await query(target, request, ANSWER_BYTES_MAX);
      return answer.ok && answer.value.type === "replace_result" && !answer.value.is_busy;
    },
  };
}
