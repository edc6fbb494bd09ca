/**
 * Enrolling and revoking dial keys, for agents and for hosts. Each change is one commit in the
 * ledger. Then a reconcile renders the list that the gateway reads (ADR 0010, ADR 0014). The verbs
 * add what is specific to either kind of holder.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, followLedger, planReport, underVerbLock } from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import type { Committed } from "core/ledger/repository.ts";
import { isDialKey } from "core/ledger/shard.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/**
 * Maps the present keys to the wanted ones. The input is undefined when the holder never had a key.
 */
export type DecideKeys = (keys: readonly string[] | undefined) => Result<readonly string[]>;

/** A kind of key holder, and where its keys are stored. */
export interface KeyHolder<Name extends string> {
  readonly kind: "agent" | "host";
  /** Name of the argument that names the holder. */
  readonly word: "agent" | "hostname";
  /** The verbs for these keys, without the last word. */
  readonly verbs: "fleetctl agents key" | "fleetctl host key";
  readonly keysMax: number;
  /** Whether a holder without keys may have a pending first enrollment, which a revoke prevents. */
  readonly canEnrollLater: boolean;
  readonly parse: (text: string) => Result<Name>;
  /** Returns the command that lists the keys of one holder. */
  readonly listing: (name: Name) => string;
  /** Writes the result of `decide` into the ledger. */
  readonly record: (
    { ports, paths }: VerbContext,
    change: ReturnType<typeof authorOf> & {
      readonly name: Name;
      readonly summary: string;
      readonly decide: DecideKeys;
    },
  ) => Promise<Result<Committed>>;
}

/** The holder and the key; all of its keys when `key` is absent. */
export interface KeySelector<Name extends string> {
  readonly name: Name;
  readonly key: string | undefined;
}

/** Parses the two arguments of these verbs. */
export function parseKeySelector<Name extends string>(
  holder: KeyHolder<Name>,
  { args }: Invocation,
): Result<KeySelector<Name>> {
  const name = holder.parse(args[holder.word] ?? "");
  if (!name.ok) return name;
  const { key } = args;
  if (key === undefined || isDialKey(key)) return ok({ name: name.value, key });
  return err(refusal(
    "dial-key-invalid",
    `Cannot use the dial key of ${holder.kind} "${name.value}": it has ${key.length} characters, ` +
      "must be 43 characters of base64url",
    { kind: "usage", hints: [holder.listing(name.value)] },
  ));
}

/** Adds a key if `decide` allows it. */
export function enrollKey<Name extends string>(
  context: VerbContext,
  holder: KeyHolder<Name>,
  { name, key, decide }: { name: Name; key: string; decide: DecideKeys },
): Promise<Result<VerbReport>> {
  const what = `${key} of ${holder.kind} "${name}"`;
  return changeKeys(context, holder, {
    act: "enroll",
    name,
    summary: `dial key ${what}`,
    decide,
    lines: (_keys, isSame) => [`${isSame ? "unchanged" : "enrolled"}  ${what}`],
  });
}

/** Returns the keys with one more, or the reason why it cannot be added. */
export function keysWith<Name extends string>(
  { kind, keysMax, listing, verbs }: KeyHolder<Name>,
  { name, key }: { readonly name: Name; readonly key: string },
  keys: readonly string[],
): Result<readonly string[]> {
  if (keys.includes(key)) return ok(keys);
  return keys.length < keysMax ? ok([...keys, key]) : err(refusal(
    "dial-keys-full",
    `Cannot enroll a dial key of ${kind} "${name}": it has ${keys.length}, ` +
      `must have at most ${keysMax}`,
    { hints: [listing(name), `${verbs} revoke ${name} --help`] },
  ));
}

/** Removes a key, or all of them. */
export function revokeKey<Name extends string>(
  context: VerbContext,
  holder: KeyHolder<Name>,
  { name, key }: KeySelector<Name>,
): Promise<Result<VerbReport>> {
  const { kind, verbs, listing } = holder;
  const holderText = `${kind} "${name}"`;
  return changeKeys(context, holder, {
    act: "revoke",
    name,
    summary: key === undefined
      ? `every dial key of ${holderText}`
      : `dial key ${key} of ${holderText}`,
    decide: (keys) => {
      if (keys === undefined && !holder.canEnrollLater) {
        // Without this refusal a mistyped name would look revoked while the intended key stays
        // valid.
        return err(refusal(
          "dial-key-unknown",
          `Cannot revoke dial keys of ${holderText}: it never had one, must be in the list`,
          { hints: [listing(name)] },
        ));
      }
      if (key === undefined) return ok([]);
      if (keys?.includes(key)) return ok(keys.filter((one) => one !== key));
      return err(refusal(
        "dial-key-unknown",
        `Cannot revoke dial key "${key}" of ${holderText}: it is not enrolled, must be in the ` +
          "list",
        { hints: [listing(name)] },
      ));
    },
    lines: (left, isSame) => [
      isSame
        ? `unchanged  ${holderText} has no dial key`
        : `revoked  ${key ?? "every dial key"} of ${holderText}`,
      ...(left.length > 0
        ? []
        : [`${holderText} cannot connect until it has a key: ${verbs} enroll ${name} <key>`]),
    ],
  });
}

/** Records the change and reconciles this host. */
async function changeKeys<Name extends string>(
  context: VerbContext,
  holder: KeyHolder<Name>,
  change: {
    readonly act: "enroll" | "revoke";
    readonly name: Name;
    /** Rest of the commit subject. */
    readonly summary: string;
    readonly decide: DecideKeys;
    /** Returns lines about the change; `isSame` when there was nothing to change. */
    readonly lines: (keys: readonly string[], isSame: boolean) => readonly string[];
  },
): Promise<Result<VerbReport>> {
  const { name, summary } = change;
  return await underVerbLock(context, async () => {
    let keys: readonly string[] = [];
    const recorded = await holder.record(context, {
      ...authorOf(context, `${holder.verbs.replace("fleetctl ", "")} ${change.act}`),
      name,
      summary,
      decide: (before) => {
        const decided = change.decide(before);
        if (decided.ok) keys = decided.value;
        return decided;
      },
    });
    if (!recorded.ok) return recorded;
    // Runs even if nothing changed: an earlier run may have stopped before this step.
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    const { gathered, report } = followed.value;
    const isSame = recorded.value.changed.length === 0;
    return ok(planReport(report, gathered, {
      json: { [holder.kind]: name, keys, changed: !isSame },
      last: change.lines(keys, isSame),
    }));
  });
}
