/**
 * `fleetctl access explain <caller> <verb> …`: shows what the daemon would answer to a caller, step
 * by step with reasons. Uses the functions that really decide. Runs no verb and queries no other
 * program.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { findAgent } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Caller, GATEWAY_USER, HOST_USER } from "core/verbs/caller.ts";
import { explain, type Explanation } from "core/verbs/explain.ts";
import { type Invocation, parseRequest } from "core/verbs/invocation.ts";
import { whoIs } from "core/verbs/who.ts";

/** Options of `fleetctl access explain`. */
export interface Options {
  readonly caller: string;
  readonly argv: readonly string[];
}

/** Debian's user `nobody`, and the uid that the kernel shows for unmapped users. Never an agent. */
const NOBODY_UID = 65_534;
const UID_MAX = 0xffff_fffe;

/** Parses the words. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { args, rest } = invocation;
  // The word `fleetctl` is often typed as well.
  const argv = rest[0] === "fleetctl" ? rest.slice(1) : rest;
  return ok({ caller: args.caller ?? "", argv });
}

/** Resolves the named caller, then explains the decision. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const caller = await callerNamed(context, options.caller);
  if (!caller.ok) return caller;
  const typed = parseRequest(options.argv, context.tokenize);
  const explanation = explain(caller.value, typed, context.paths.root === "/");
  return ok({
    json: explanationJson(caller.value, explanation),
    blocks: [
      {
        kind: "table",
        columns: ["step", "found"],
        rows: explanation.steps.map(({ step, found }): readonly Cell[] => [step, found]),
        empty: "",
      },
      { kind: "lines", lines: conclusion(explanation) },
    ],
  });
}

async function callerNamed(context: VerbContext, name: string): Promise<Result<Caller>> {
  const { ports, paths } = context;
  switch (name) {
    case "root":
    case "operator":
      return ok({ kind: "operator", uid: 0 });
    case "nobody":
      return ok({ kind: "other", uid: NOBODY_UID });
    case "gateway": {
      const user = await ports.users.byName(GATEWAY_USER);
      return ok({ kind: "gateway", uid: user?.uid ?? NOBODY_UID });
    }
    case "host": {
      const user = await ports.users.byName(HOST_USER);
      return ok({ kind: "host", uid: user?.uid ?? NOBODY_UID });
    }
  }
  if (/^\d+$/.test(name)) {
    const uid = Number(name);
    return uid <= UID_MAX ? await whoIs(ports, paths, { uid, as: undefined }) : err(noUid(name));
  }
  const ledger = await readLedgerWithFallback(ports, paths);
  if (!ledger.ok) return ledger;
  const agent = findAgent(ledger.value, name);
  if (!agent.ok) return agent;
  const user = await ports.users.byName(agent.value.name);
  return ok({
    kind: agent.value.isAdmin ? "admin" : "agent",
    uid: user?.uid ?? NOBODY_UID,
    agent: agent.value.name,
  });
}

function noUid(text: string) {
  return refusal(
    "options-invalid",
    `Cannot explain for uid ${text}: must be at most ${UID_MAX}`,
    { kind: "usage", hints: ["fleetctl access explain --help"] },
  );
}

function conclusion({ isAllowed, reason, refusal: why }: Explanation): readonly Cell[] {
  if (isAllowed) return [{ text: `allowed: ${reason}`, tone: "good" }];
  return [
    { text: `refused: ${reason}${why === undefined ? "" : ` (${why.code})`}`, tone: "bad" },
    ...(why === undefined ? [] : [
      `  ${why.message}`,
      ...why.hints.map((hint) => `  hint: ${hint}`),
    ]),
  ];
}

function explanationJson(caller: Caller, explanation: Explanation) {
  return {
    caller: caller.kind,
    agent: "agent" in caller ? caller.agent : null,
    verb: explanation.verb ?? null,
    target: explanation.target ?? null,
    allowed: explanation.isAllowed,
    code: explanation.refusal?.code ?? null,
    reason: explanation.reason,
    message: explanation.refusal?.message ?? null,
    steps: explanation.steps,
  };
}
