/**
 * `fleetctl acp <agent>`: speaks the Agent Client Protocol on stdin and stdout, so that an editor
 * opens an agent of this host. Its prompts are turns, as those of `fleetctl turn`. Stdout carries
 * the protocol only.
 *
 * @module
 */

import { createEditorAgent } from "cli/acp/editor_agent.ts";
import { editorStream } from "cli/acp/editor_stream.ts";
import { agentHere } from "cli/agent_here.ts";
import { runLocalTurn } from "cli/ask_turn.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { sendAnswer } from "cli/questions/queries.ts";
import { agentForTurn } from "cli/turn_target.ts";
import { sendDecision } from "core/dial/ask_human.ts";
import { refusal } from "core/errors.ts";
import { withLocalCommand, withLocalHints } from "core/hints/local_hints.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { findAgent } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";
import { authorize } from "core/verbs/authorize.ts";
import { actAs, callerAgent, callerText } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl acp`. */
export interface Options {
  /** Authorized again with each prompt. */
  readonly invocation: Invocation;
}

/** Refuses `--json`, whose document would follow the protocol on stdout. */
export function parseOptions(invocation: Invocation): Result<Options> {
  if (!invocation.json) return ok({ invocation });
  return err(refusal(
    "acp-json",
    "Cannot speak the Agent Client Protocol with --json: stdout carries the protocol only",
    { kind: "usage" },
  ));
}

/** Serves the editor until it closes stdin. Running turns continue without it. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, caller, env } = context;
  const agent = await agentHere(context);
  if (!agent.ok) return agent;
  const { name } = agent.value;
  const by = callerText(caller);
  const dialUnit = {
    socket: paths.dialSocket(name),
    connect: (path: string) => ports.sockets.connectUnix(path),
    clock: ports.clock,
  };
  const leave = new AbortController();
  const app = createEditorAgent({
    name,
    host: ports.hostname,
    version: context.version,
    clock: ports.clock,
    // The same rule as at the dial unit. An agent never decides for its owner.
    mayDecide: caller.kind === "operator",
    leave: leave.signal,
    newId: () => ports.random.uuid(),
    async ready() {
      const allowed = await stillAllowed(context, options);
      return allowed.ok ? await agentForTurn(context) : allowed;
    },
    runTurn: (turn, watcher) => runLocalTurn(dialUnit, { agent: name, by, ...turn }, watcher),
    decide: ({ id, digest }, decision) =>
      sendDecision(dialUnit, { agent: name, id, digest, decision, by }),
    answer: ({ id }, answer) => sendAnswer(dialUnit, { agent: name, id, by, ...answer }),
    command: (line) => withLocalCommand(line, env),
    localized: (reason) => withLocalHints(reason, env),
  });
  const stop = context.takeOverStop();
  const stream = editorStream(context.openStdin(), (line) => context.write(line));
  const connection = app.connect(stream);
  connection.signal.addEventListener("abort", () => leave.abort(), { once: true });
  stop.addEventListener("abort", () => connection.close(), { once: true });
  if (stop.aborted) connection.close();
  await connection.closed;
  return ok({ json: { agent: name }, blocks: [] });
}

/**
 * A connection may be open for days. Root keeps its rights meanwhile; those of an agent are read
 * from its shard again.
 */
async function stillAllowed(
  { ports, paths, caller, target }: VerbContext,
  { invocation }: Options,
): Promise<Result<void>> {
  const own = callerAgent(caller);
  if (own === undefined) return ok(undefined);
  const ledger = await readLedgerWithFallback(ports, paths);
  if (!ledger.ok) return ledger;
  const record = findAgent(ledger.value, own);
  if (!record.ok) return record;
  const now = actAs(caller, record.value);
  if (!now.ok) return now;
  const decision = authorize(now.value, { invocation, target });
  return decision.allowed === true ? ok(undefined) : err(decision.refusal);
}
