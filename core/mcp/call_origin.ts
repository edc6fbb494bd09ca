/**
 * Through which door a tool call came: told to whoever approves it, and part of what an approval is
 * bound to. An origin widens nothing. No I/O.
 *
 * @module
 */

/** Through which door a call came. */
export type CallOrigin =
  /** The model called the tool itself. */
  | { readonly kind: "direct" }
  /** The `call`-th call, from 1, of the script whose text has the digest `script`. */
  | { readonly kind: "script"; readonly script: string; readonly call: number }
  /** `fleetctl mcp read` or `mcp call` by the agent itself. */
  | { readonly kind: "verb"; readonly verb: CallVerb }
  /** The same verbs by somebody else: the call runs as the target agent. */
  | {
    readonly kind: "relayed";
    readonly verb: CallVerb;
    readonly by: string;
    /** Root asked, who may call anything across agents; anybody else may only read. */
    readonly root?: true;
  };

/** The verbs that call a tool. */
export type CallVerb = "mcp read" | "mcp call";

/** A call of the model itself. */
export const DIRECT: CallOrigin = { kind: "direct" };

/** Longest text of an origin's own fields; what is longer is no origin of ours. */
const ORIGIN_TEXT_MAX = 128;
/** Names an origin for people: `direct`, `call 3 of a script`, `mcp call by root`. */
export function originText(origin: CallOrigin): string {
  switch (origin.kind) {
    case "direct":
      return "direct";
    case "script":
      return `call ${origin.call} of a script`;
    case "verb":
      return `${origin.verb} by the agent`;
    case "relayed":
      return `${origin.verb} by ${origin.by}`;
  }
}

/**
 * Reads an origin that another program of ours stated (`_meta.fleetctl.origin` of a call). Anything
 * else is `direct`: an origin widens nothing, it tells the approver where a call comes from.
 */
export function readOrigin(value: unknown): CallOrigin {
  if (typeof value !== "object" || value === null) return DIRECT;
  const { kind, verb, by, script, call, root } = value as Readonly<Record<string, unknown>>;
  if (kind === "script" && isShort(script) && Number.isSafeInteger(call) && Number(call) > 0) {
    return { kind, script, call: Number(call) };
  }
  if (verb !== "mcp read" && verb !== "mcp call") return DIRECT;
  if (kind === "verb") return { kind, verb };
  if (kind !== "relayed" || !isShort(by)) return DIRECT;
  return { kind, verb, by, ...(root === true ? { root } : {}) };
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= ORIGIN_TEXT_MAX;
}
