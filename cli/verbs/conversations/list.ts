/**
 * `fleetctl conversations list <agent>`: the conversations that the agent has on this host. Changes
 * nothing.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import type { ConversationView } from "core/dial/conversation_frames.ts";
import { query, unexpected } from "core/dial/local_query.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** No options: the agent is the context's target. */
export type Options = Readonly<Record<never, never>>;

/** Maximum size of the answer: 1,000 sessions and as many worktrees with their folders. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Returns no options: the context already has the target. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Queries the dial unit. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const agent = await agentHere(context);
  if (!agent.ok) return agent;
  const { name } = agent.value;
  const answer = await query(
    {
      socket: paths.dialSocket(name),
      connect: (path) => ports.sockets.connectUnix(path),
      clock: ports.clock,
    },
    { type: "conversations", agent: name },
    ANSWER_BYTES_MAX,
  );
  if (!answer.ok) return answer;
  if (answer.value.type !== "conversations_result") return err(unexpected(answer.value));
  const { conversations } = answer.value;
  return ok({
    json: { agent: name, conversations },
    blocks: [{
      kind: "table",
      columns: ["conversation", "last used", "works in", "branch"],
      rows: conversations.map(row),
      empty: "",
    }],
  });
}

function row({ conversation, used, folder, branch, state }: ConversationView): readonly Cell[] {
  const time = used === undefined ? "" : new Date(used).toISOString().slice(0, 16);
  const at = state === undefined || state === "ready" ? folder : `${folder} (${state})`;
  return [{ text: conversation, tone: "head" }, time, at ?? "the workspace", branch ?? ""];
}
