/**
 * `fleetctl turn <agent> <text>`: sends a turn to an agent of this host and prints its transcript
 * as it grows. The transcript names the caller. Works without a gateway.
 *
 * @module
 */

import { readAttachments } from "cli/attachments.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { createTranscript } from "cli/transcript.ts";
import { agentForTurn } from "cli/turn_target.ts";
import { notCompleted } from "cli/up/turn.ts";
import { runLocalTurn, type TurnUpdate } from "cli/ask_turn.ts";
import { defined } from "core/defined.ts";
import { conversationName } from "core/dial/conversation.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { callerText } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl turn`; the text is the context's secret value. */
export interface Options {
  readonly isJson: boolean;
  /** Absent: the default one. */
  readonly conversation?: string;
  /** Files come on the input. */
  readonly hasFiles: boolean;
  /** The running turn may read it. */
  readonly isSteer: boolean;
}

/** Parses the options. */
export function parseOptions({ json, options, switches }: Invocation): Result<Options> {
  const { conversation, file } = options;
  if (conversation !== undefined && !conversationName.safeParse(conversation).success) {
    return err(invalidName(conversation));
  }
  if (file !== undefined && switches.has("steer")) return err(filesNotSteered());
  return ok({
    isJson: json,
    hasFiles: file !== undefined,
    isSteer: switches.has("steer"),
    ...defined({ conversation }),
  });
}

/** Sends the turn and follows it to its end. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, caller, secretValue: text = "" } = context;
  const agent = await agentForTurn(context);
  if (!agent.ok) return agent;
  const { name } = agent.value;
  const by = callerText(caller);
  const transcript = createTranscript(name, (shown) => context.write(shown));
  let answer = "";
  const onUpdate = async (update: TurnUpdate) => {
    if (update.type === "turn_event" && update.kind === "message") {
      answer = String(update.payload.text);
    }
    if (!options.isJson) await transcript.take(update);
  };
  const ended = await runLocalTurn(
    {
      socket: paths.dialSocket(name),
      connect: (path) => ports.sockets.connectUnix(path),
      clock: ports.clock,
    },
    {
      agent: name,
      text,
      by,
      ...defined({ conversation: options.conversation }),
      ...(options.isSteer ? { steer: true } : {}),
      ...(options.hasFiles ? { files: readAttachments(context.openStdin()) } : {}),
    },
    { onUpdate, stop: context.takeOverStop() },
  );
  if (!ended.ok) return ended;
  const { turnId, end } = ended.value;
  if (end.outcome !== "completed") return err(notCompleted(end));
  return ok({
    json: { agent: name, turn_id: turnId, by, outcome: "completed", answer },
    blocks: [],
  });
}

function filesNotSteered() {
  return refusal(
    "usage",
    "Cannot send the turn: --steer cannot be combined with --file, a file needs a turn",
    { kind: "usage" },
  );
}

function invalidName(conversation: string) {
  return refusal(
    "conversation-name-invalid",
    `Cannot send the turn to conversation ${JSON.stringify(conversation)}: its name must be 1 to ` +
      "64 of a-z, 0-9 and -",
    { kind: "usage" },
  );
}
