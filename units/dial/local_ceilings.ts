/**
 * Spend ceilings on the local socket. The built-in runtime checks them before each model call; such
 * a check keeps its connection open while the owner is asked. Root reads them and allows more.
 *
 * @module
 */

import { ceilingViewOf, type LocalAnswer, type LocalRequest } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Ceilings } from "units/dial/ceilings.ts";
import { noSuchCeiling } from "units/dial/ceiling_words.ts";
import { type PeerRights, wrongAgent } from "units/dial/local_approvals.ts";

type Request<T extends LocalRequest["type"]> = Extract<LocalRequest, { readonly type: T }>;

/** Serves one check to its end; the end of the connection withdraws it. */
export async function serveSpendCheck(
  request: Request<"spend_check">,
  ceilings: Ceilings | undefined,
  peer: {
    next(): Promise<string | undefined>;
    answer(value: LocalAnswer): Promise<void>;
  },
): Promise<void> {
  if (ceilings === undefined) return await peer.answer({ type: "spend_answer", notices: [] });
  const { model, models = [request] } = request;
  const used = models.map((of) => ({
    model: of.model,
    tokens: {
      input: of.input_tokens,
      output: of.output_tokens,
      cachedRead: of.cached_read_tokens,
      cachedWrite: of.cached_write_tokens,
    },
  }));
  const gone = new AbortController();
  peer.next().finally(() => gone.abort()).catch(() => {/* the connection is broken: it is gone */});
  const running = { model, used, turnId: request.turn_id ?? "" };
  const { notices, stop } = await ceilings.check(running, gone.signal);
  if (gone.signal.aborted) return;
  await peer.answer({
    type: "spend_answer",
    notices: [...notices],
    ...(stop === undefined ? {} : { stop: { ...shown(stop), hints: [...stop.hints] } }),
  });
}

/** Answers a request that reads the ceilings or allows more. */
export async function answerCeilings(
  request: Request<"ceilings"> | Request<"ceiling_allow">,
  ceilings: Ceilings | undefined,
  rights: PeerRights,
): Promise<LocalAnswer> {
  const { agent } = rights;
  if (request.type === "ceilings") {
    const states = await ceilings?.states();
    if (states?.ok === false) return errorLine(states.error);
    const views = states?.value.map(ceilingViewOf) ?? [];
    return { type: "ceilings_result", agent, ceilings: views };
  }
  if (request.agent !== agent) return errorLine(wrongAgent(request.agent, agent));
  if (!rights.mayDecide) return errorLine(notYours(agent));
  const { period, unit, more, by } = request;
  if (ceilings === undefined) return errorLine(noSuchCeiling(agent, { period, unit }));
  const allowed = await ceilings.allow({ period, amount: { unit, count: more }, by });
  return allowed.ok
    ? { type: "ceiling_result", agent, ceiling: ceilingViewOf(allowed.value) }
    : errorLine(allowed.error);
}

function errorLine(refused: Refusal): LocalAnswer {
  return { type: "error", ...shown(refused) };
}

function shown({ code, message }: Refusal) {
  return { code, message };
}

function notYours(agent: string) {
  return refusal(
    "ceiling-not-yours",
    `Cannot allow agent "${agent}" to spend more: the caller is the agent itself, must be an ` +
      "operator or another admin agent",
    { kind: "denied" },
  );
}
