/**
 * The local socket: the agent's own programs use it to write to other agents and to ask humans. It
 * has mode 0600 and lies in the agent's home. The kernel identifies the peer; only the agent's own
 * user and root are served.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type LocalAnswer, type LocalRequest, localRequest } from "core/dial/local_frames.ts";
import { errorText, type Refusal } from "core/errors.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import type { Log } from "core/ports/log.ts";
import type { PeerStream, Sockets } from "core/ports/sockets.ts";
import type { Users } from "core/ports/users.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import { LineTooLong, readLines } from "core/text/lines.ts";
import type { Approvals } from "units/dial/approvals.ts";
import type { Ceilings } from "units/dial/ceilings.ts";
import { answerApprovals, type PeerRights, serveQuestion } from "units/dial/local_approvals.ts";
import { answerCeilings, serveSpendCheck } from "units/dial/local_ceilings.ts";
import type { LocalTurnFiles } from "units/dial/local_turn_files.ts";
import {
  type LocalTurns,
  serveTurn,
  takeTurnFile,
  WATCHED_TURNS_MAX,
} from "units/dial/local_turns.ts";
import { answerConversations, type Conversations } from "units/dial/conversations.ts";
import { answerQuestions } from "units/dial/local_questions.ts";
import type { McpStates } from "units/dial/mcp_states.ts";
import type { GatewayQuestions } from "units/dial/messages.ts";
import type { OwnerFiles } from "units/dial/owner_files.ts";
import type { PersonQuestions } from "units/dial/person_questions.ts";
import { answerReplacement, type Replacement } from "units/dial/replacement.ts";
import { answerUsage, type UsageReader } from "units/dial/usage_reader.ts";

/** MCPs whose proxies each keep a connection open. */
const PROXIES_MAX = 256;
/**
 * Maximum of simultaneous connections. Each question to a human, each turn from this host and each
 * proxy keeps one open.
 */
const CONNECTIONS_MAX = 16 + APPROVAL_LIMITS.openMax + WATCHED_TURNS_MAX + PROXIES_MAX;
/** JSON makes a text at most six times longer. */
const LINE_BYTES_MAX = 6 *
    Math.max(
      MESSAGE_LIMITS.textBytesMax,
      APPROVAL_LIMITS.argumentsBytesMax,
      TURN_LIMITS.textBytesMax,
    ) + 16 * 1024;
const ROOT_UID = 0;

/** Dependencies of the socket. */
export interface LocalSocketDeps {
  /** The agent of this dial unit. */
  readonly agent: string;
  readonly sockets: Pick<Sockets, "serveUnix">;
  readonly users: Pick<Users, "currentUid">;
  readonly questions: GatewayQuestions;
  readonly ownerFiles: Pick<OwnerFiles, "offer">;
  readonly approvals: Approvals;
  readonly personQuestions: PersonQuestions;
  readonly turns: LocalTurns;
  /** Opens the files of a connection. */
  readonly openTurnFiles: () => LocalTurnFiles;
  readonly usage: UsageReader;
  /** Absent for an agent without a ceiling. */
  readonly ceilings?: Ceilings | undefined;
  readonly conversations: Conversations;
  readonly replacement: Pick<Replacement, "prepare">;
  readonly mcps: Pick<McpStates, "listed">;
  /** True under a root other than `/`, where the agent's uid is the operator's. */
  readonly isRootless: boolean;
  readonly log: Log;
}

/** Opens the socket; rejects with `FileFault`. */
export async function openLocalSocket(
  path: string,
  deps: LocalSocketDeps,
): Promise<{ close(): Promise<void> }> {
  const { users, log } = deps;
  let open = 0;
  return await deps.sockets.serveUnix(path, 0o600, (stream) => {
    const { uid } = stream.peer;
    if (uid !== users.currentUid() && uid !== ROOT_UID) {
      log.warning("local socket refused a peer", { uid });
      return stream.close();
    }
    if (open >= CONNECTIONS_MAX) return stream.close();
    open++;
    serve(stream, deps)
      .catch((thrown) => log.warning("local socket failed", { error: errorText(thrown) }))
      .finally(() => {
        open--;
        stream.close();
      });
  });
}

async function serve(stream: PeerStream, deps: LocalSocketDeps): Promise<void> {
  const writer = stream.writable.getWriter();
  const rights: PeerRights = {
    agent: deps.agent,
    mayDecide: stream.peer.uid === ROOT_UID || deps.isRootless,
  };
  const answer = (value: LocalAnswer) =>
    writer.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
  const lines = readLines(stream.readable, { lineBytesMax: LINE_BYTES_MAX });
  const next = async () => {
    const { value, done } = await lines.next();
    return done === true ? undefined : value;
  };
  const files = deps.openTurnFiles();
  try {
    for (let line = await next(); line !== undefined; line = await next()) {
      if (line === "") continue;
      const parsed = localRequest.safeParse(parseJsonLine(line));
      if (!parsed.success) {
        await answer(invalid("its type is unknown or a field is invalid"));
        continue;
      }
      const request = parsed.data;
      if (request.type === "approval_ask") {
        return await serveQuestion(request, deps.approvals, { next, answer });
      }
      if (request.type === "turn") {
        const peer = { rights, files, log: deps.log, next, answer };
        return await serveTurn(request, deps.turns, peer);
      }
      if (request.type === "turn_file") {
        await answer(await takeTurnFile(request, files, rights));
        continue;
      }
      if (request.type === "spend_check") {
        return await serveSpendCheck(request, deps.ceilings, { next, answer });
      }
      if (request.type === "mcp_listed") return await registerProxy(request.mcp, deps.mcps, next);
      await answer(await handle(request, deps, rights));
    }
  } catch (thrown) {
    if (!(thrown instanceof LineTooLong)) throw thrown;
    await answer({ type: "error", code: "line-too-long", message: errorText(thrown) });
  } finally {
    await files.close();
  }
}

/** Registers a proxy's MCP until its connection ends, which means that the proxy has ended. */
async function registerProxy(
  mcp: string,
  mcps: Pick<McpStates, "listed">,
  next: () => Promise<string | undefined>,
): Promise<void> {
  const release = mcps.listed(mcp);
  try {
    while (await next() !== undefined);
  } finally {
    release();
  }
}

/** Requests with one answer; the others keep their connection open. */
type ShortRequest = Exclude<
  LocalRequest,
  { readonly type: "approval_ask" | "turn" | "turn_file" | "mcp_listed" | "spend_check" }
>;

async function handle(
  request: ShortRequest,
  deps: LocalSocketDeps,
  rights: PeerRights,
): Promise<LocalAnswer> {
  const { questions, ownerFiles, approvals, personQuestions } = deps;
  const { usage, ceilings, conversations } = deps;
  switch (request.type) {
    case "agents": {
      const names = await questions.agentNames();
      return names.ok
        ? { type: "agents_result", names: [...names.value] }
        : { type: "error", ...shown(names.error) };
    }
    case "message": {
      const sent = await questions.sendMessage(request);
      return sent.ok
        ? { type: "message_result", ok: true }
        : { type: "message_result", ok: false, ...shown(sent.error) };
    }
    case "owner_file":
    case "owner_message": {
      const sent = request.type === "owner_file"
        ? await ownerFiles.offer(request)
        : await questions.sendToOwner(request);
      if (!sent.ok) return { type: "error", ...shown(sent.error) };
      const { outcome, ids, reason } = sent.value;
      return { type: "owner_message_result", outcome, ids: [...ids], ...defined({ reason }) };
    }
    case "approvals":
    case "approval_decide":
      return answerApprovals(request, approvals, rights);
    case "usage":
      return await answerUsage(request, usage, {
        agent: rights.agent,
        running: ceilings?.running() ?? [],
      });
    case "ceilings":
    case "ceiling_allow":
      return await answerCeilings(request, ceilings, rights);
    case "conversations":
    case "conversation_remove":
      return await answerConversations(request, conversations, rights);
    case "questions":
    case "question_answer":
      return answerQuestions(request, personQuestions, rights);
    case "replace":
      return await answerReplacement(request, deps.replacement, rights);
    case "approval_use":
    case "approval_withdraw":
      return invalid("this connection has no open question");
    case "turn_cancel":
      return invalid("this connection has no open turn");
  }
}

function invalid(state: string): LocalAnswer {
  const message = `Cannot read the request: ${state}`;
  return { type: "error", code: "request-invalid", message };
}

function shown({ code, message }: Refusal) {
  return { code, message };
}
