/**
 * `fleetctl conversations remove <agent> <conversation>`: removes a conversation of this host. Its
 * worktree is removed after a snapshot, and the verb prints the command that restores it.
 *
 * @module
 */

import { agentForTurn } from "cli/turn_target.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { conversationName } from "core/dial/conversation.ts";
import type { LocalAnswer } from "core/dial/local_frames.ts";
import { query, unexpected } from "core/dial/local_query.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { quoteShell } from "core/text/quote.ts";
import { callerAgent } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl conversations remove`. */
export interface Options {
  readonly conversation: string;
}

type Removed = Extract<LocalAnswer, { type: "conversation_removed" }>;

/** Each git command of a removal has five minutes; most take milliseconds. */
const ANSWER_MS_MAX = 15 * 60_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/** Parses the arguments. */
export function parseOptions({ args }: Invocation): Result<Options> {
  const { conversation = "" } = args;
  return conversationName.safeParse(conversation).success
    ? ok({ conversation })
    : err(invalidName(conversation));
}

/** Asks the dial unit to remove the conversation. */
export async function run(
  context: VerbContext,
  { conversation }: Options,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const agent = await agentForTurn(context);
  if (!agent.ok) return agent;
  const { name } = agent.value;
  const answer = await query(
    {
      socket: paths.dialSocket(name),
      connect: (path) => ports.sockets.connectUnix(path),
      clock: ports.clock,
    },
    { type: "conversation_remove", agent: name, conversation },
    ANSWER_BYTES_MAX,
    ANSWER_MS_MAX,
  );
  if (!answer.ok) return answer;
  if (answer.value.type !== "conversation_removed") return err(unexpected(answer.value));
  const { workspace, folder, branch, snapshot } = answer.value;
  const restore = restoreCommand(context, name, answer.value);
  return ok({
    json: {
      agent: name,
      conversation,
      workspace: workspace ?? null,
      folder: folder ?? null,
      branch: branch ?? null,
      snapshot: snapshot ?? null,
      restore: restore ?? null,
    },
    blocks: [{
      kind: "lines",
      lines: [
        `conversation "${conversation}" of agent "${name}" is removed`,
        ...(branch === undefined ? [] : [`its branch stays: ${branch}`]),
        ...(snapshot === undefined ? [] : [`its files are kept in: ${snapshot}`]),
        ...(restore === undefined ? [] : [`to restore them: ${restore}`]),
      ],
    }],
  });
}

/** Returns the command that restores the worktree with the agent's rights. */
function restoreCommand(
  { paths, caller }: VerbContext,
  agent: string,
  { workspace, folder, snapshot }: Removed,
): string | undefined {
  if (workspace === undefined || folder === undefined || snapshot === undefined) return undefined;
  const [from, to] = [workspace, folder].map(quoteShell);
  const isOther = paths.root === "/" && callerAgent(caller) !== agent;
  const asAgent = isOther ? `runuser -u ${agent} -- ` : "";
  return `${asAgent}git -C ${from} worktree add --detach ${to} ${snapshot}`;
}

function invalidName(conversation: string) {
  return refusal(
    "conversation-name-invalid",
    `Cannot remove conversation ${JSON.stringify(conversation)}: its name must be 1 to 64 of ` +
      "a-z, 0-9 and -",
    { kind: "usage" },
  );
}
