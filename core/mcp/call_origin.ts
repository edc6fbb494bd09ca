/**
 * How a tool call was made. The approver sees it, and an approval is bound to it. An origin grants
 * nothing. No I/O.
 *
 * @module
 */

/** How a call was made. */
export type CallOrigin =
  /** The model called the tool itself. */
  | { readonly kind: "direct" }
  /** Call number `call`, from 1, of the script whose text has the digest `script`. */
  | { readonly kind: "script"; readonly script: string; readonly call: number }
  /** `fleetctl mcp read` or `mcp call` by the agent itself. */
  | { readonly kind: "verb"; readonly verb: CallVerb }
  /** The same verbs run by another user: the call runs as the target agent. */
  | {
    readonly kind: "relayed";
    readonly verb: CallVerb;
    readonly by: string;
    /** Root may call any tool across agents; other users may only read. */
    readonly root?: true;
  };

/** The verbs that call a tool. */
export type CallVerb = "mcp read" | "mcp call";

/** A call of the model itself. */
export const DIRECT: CallOrigin = { kind: "direct" };

/** Longest text in an origin's own fields; an origin with a longer one is ignored. */
const ORIGIN_TEXT_MAX = 128;
/** Returns an origin in words: `direct`, `call 3 of a script`, `mcp call by root`. */
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
 * Reads an origin that another fleetctl program stated (`_meta.fleetctl.origin` of a call).
 * Anything else is `direct`. This is safe because an origin grants nothing; it only informs the
 * approver.
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
