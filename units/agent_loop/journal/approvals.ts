/**
 * Reads the approvals of the agent's calls from its dial unit, for a turn that continues.
 *
 * @module
 */

import { listApprovals } from "core/dial/ask_human.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Sockets } from "core/ports/sockets.ts";
import type { CallApproval } from "units/agent_loop/journal/plan.ts";

/** Dependencies of the reader. */
export interface ApprovalReaderDeps {
  /** The dial unit's local socket. */
  readonly socket: string;
  readonly sockets: Pick<Sockets, "connectUnix">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A dial unit that has just started opens its socket moments after its runtime. */
const TRIES_MAX = 10;
const RETRY_MS = 300;

/** Creates the reader; it returns undefined when the dial unit does not answer. */
export function approvalReader(
  { socket, sockets, clock, log }: ApprovalReaderDeps,
): () => Promise<readonly CallApproval[] | undefined> {
  const target = { socket, clock, connect: (path: string) => sockets.connectUnix(path) };
  return async () => {
    for (let left = TRIES_MAX; left > 0; left--) {
      const listed = await listApprovals(target);
      if (listed.ok) return listed.value.map(callApproval);
      log.info("approvals not readable yet", { code: listed.error.code });
      await clock.sleep(RETRY_MS);
    }
    return undefined;
  };
}

function callApproval(view: ApprovalView): CallApproval {
  const { mcp, tool, state, asked, decision, by, reason } = view;
  return {
    mcp,
    tool,
    arguments: view.arguments,
    askedAt: asked,
    state,
    isDenied: decision === "denied",
    by,
    reason,
  };
}
