/**
 * The tokens of an ACP turn, from the answer to its prompt. The protocol has no model there, so it
 * comes from extensions of the program or from the session's settings. Pure.
 *
 * | Program | Reports |
 * |---|---|
 * | the built-in runtime | `usage`, and the model in `_meta.fleetctl`; `models` there has the tokens of each, if there are several |
 * | claude-agent-acp | `_meta.quota.model_usage`: the tokens of each model |
 * | opencode | `usage` of the last model call only; the model is a setting of the session |
 *
 * @module
 */

import { blocksOf, fieldsOf, type Message } from "units/dial/runtimes/message.ts";
import {
  createUsageMeter,
  readCounts,
  readInclusiveCounts,
  type TokenCounts,
  type TurnUsage,
} from "units/dial/runtimes/usage.ts";

/** What is known of a program before its first turn. */
export interface UsageSource {
  /** The model of the session. */
  readonly model: unknown;
  /** Whether the program counts only the last model call of a turn. */
  readonly isLastCallOnly: boolean;
}

/** Name of a program that counts only the last model call of a turn. */
const LAST_CALL_ONLY = "OpenCode";

/** Reads what `initialize` and the opening of the session tell about usage. */
export function usageSourceOf(peer: unknown, session: unknown): UsageSource {
  const options = blocksOf(fieldsOf(session).configOptions);
  return {
    model: options.find(({ id }) => id === "model")?.currentValue,
    isLastCallOnly: fieldsOf(fieldsOf(peer).agentInfo).name === LAST_CALL_ONLY,
  };
}

/** Reads the answer to a prompt, or the data of its error; undefined when it has no tokens. */
export function readPromptUsage(answer: unknown, source: UsageSource): TurnUsage | undefined {
  const { usage, _meta } = fieldsOf(answer);
  const meta = fieldsOf(_meta);
  const meter = createUsageMeter();
  const byModel = blocksOf(fieldsOf(meta.quota).model_usage);
  for (const { model, token_count: of } of byModel) {
    const { inputTokens, outputTokens, cachedInputTokens, cachedWriteTokens } = fieldsOf(of);
    const cachedReadTokens = cachedInputTokens;
    meter.add(
      model,
      readCounts({ inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens }),
    );
  }
  const own = fieldsOf(meta.fleetctl);
  const models = blocksOf(own.models);
  for (const { model, usage: of } of models) meter.add(model, readUsage(fieldsOf(of)));
  if (byModel.length === 0 && models.length === 0 && usage !== undefined) {
    meter.add(own.model ?? source.model, readUsage(fieldsOf(usage)));
  }
  if (source.isLastCallOnly || own.is_partial === true) meter.miss();
  return meter.take();
}

/**
 * Reads the protocol's `usage`. Programs differ in whether the input includes cached tokens, and
 * whether the output includes thoughts; `totalTokens` shows which.
 */
function readUsage(of: Message): TokenCounts | undefined {
  const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens, totalTokens } = of;
  const reported = { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens };
  const counts = readCounts(reported);
  if (counts === undefined) return undefined;
  const sum = Object.values(counts).reduce((all, one) => all + one, 0);
  const cached = counts.cachedReadTokens + counts.cachedWriteTokens;
  if (cached > 0 && totalTokens === sum - cached) return readInclusiveCounts(reported);
  const thoughts = readCounts({ outputTokens: of.thoughtTokens })?.outputTokens ?? 0;
  return thoughts > 0 && totalTokens === sum + thoughts
    ? readCounts({ ...reported, outputTokens: counts.outputTokens + thoughts })
    : counts;
}
