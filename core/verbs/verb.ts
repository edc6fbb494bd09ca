/**
 * What one row of the verb table says: words, arguments, options, and who may run it.
 * Types only. A row without `scope` does not compile; what a scope means is decided
 * in one function, `core/verbs/authorize.ts`. Why: ADR 0006.
 *
 * @module
 */

/**
 * Who may run a verb.
 * - `anyone`: read-only and ungated.
 * - `agent`: any agent, about itself.
 * - `operator`: root, or an agent with `admin: true`.
 * - `gateway`: as `operator`, and the gateway's own user.
 * - `self`: the target is the caller; another target needs admin or root.
 * - `self_or_gateway`: as `self`, and the gateway's own user for an agent whose owner asked it.
 * - `self_or_root`: the target is the caller; another target needs root, admin is not enough.
 * - `self_or_host`: as `self` where an agent is the target, as `operator` for the whole host.
 */
export type VerbScope =
  | "anyone"
  | "agent"
  | "operator"
  | "gateway"
  | "self"
  | "self_or_gateway"
  | "self_or_root"
  | "self_or_host";

/**
 * Where a verb does its work.
 * - `here`: in the caller's process with the caller's rights.
 * - `root`: needs the rights of root; forwarded to the daemon when its socket is there.
 * - `root_for_peer`: `here` for the caller's own agent, `root` for another one.
 */
export type VerbPlace = "here" | "root" | "root_for_peer";

/** One positional argument, in order; only the last ones may be optional. */
export interface Argument {
  readonly name: string;
  readonly optional?: true;
  /** Takes all that is left. */
  readonly rest?: true;
  /** The only values accepted. */
  readonly choices?: readonly string[];
  /** As for an option: `-` reads stdin, and the value is in no argument list and no audit row. */
  readonly secret?: true;
  readonly summary: string;
}

/** One option; without `value` it is a switch. */
export interface Option {
  readonly name: string;
  /** Placeholder of the value in help: `pkg@ver`. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly repeat?: true;
  /**
   * The value is a secret: `-` reads it from stdin, and it leaves this process over stdin only,
   * never in an argument list.
   */
  readonly secret?: true;
  /** Switches (`no-key`) and values (`provider=demo`) with which a secret is not asked for. */
  readonly unless?: readonly string[];
  readonly summary: string;
}

/** Where a verb names the agent it acts on, and who is meant when it names none. */
export interface TargetRule {
  readonly from: "argument" | "option";
  readonly name: string;
  /**
   * - `required`: parsing refuses.
   * - `host`: the whole host.
   * - `caller`: the calling agent; an operator must name one.
   * - `caller_or_host`: the calling agent, or for an operator the whole host.
   * - `agent_or_host`: the calling agent, or for an operator and an admin agent the whole host.
   */
  readonly absent: "required" | "host" | "caller" | "caller_or_host" | "agent_or_host";
}

/** One verb of the command line. */
export interface Verb {
  /** Words in order: `["mcp", "add"]`. */
  readonly path: readonly string[];
  readonly args: readonly Argument[];
  readonly options: readonly Option[];
  readonly scope: VerbScope;
  readonly target?: TargetRule;
  /** The host's own dial unit may run it, for whoever administers the fleet at the gateway. */
  readonly isHostJob?: true;
  readonly runs: VerbPlace;
  /** Changes the host: a client that goes away does not stop it. */
  readonly mutates: boolean;
  /**
   * Lasts as long as its client watches. Root runs it in its own process, where it takes no place
   * of the daemon, and the daemon tells it when the client of another caller has left.
   */
  readonly follows?: true;
  readonly summary: string;
  /**
   * Takes away what does not come back: on a terminal the name of the target has to be typed, and
   * elsewhere the switch `--yes` is needed.
   */
  readonly confirms?: true | {
    /** Asked only with this switch; without it nothing is lost. */
    readonly withSwitch: string;
    /** What has to be typed where the verb has no target. */
    readonly word: string;
  };
  /** One line that can be pasted. */
  readonly example: string;
  /** Described, and not built yet: hidden, and refused with `verb-not-available`. */
  readonly later?: true;
  /** Works, and is not shown in help. */
  readonly hidden?: true;
}

/** Options that every verb takes. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  { name: "json", summary: "Print one JSON document instead of text" },
  { name: "as", value: "agent", summary: "Act as this agent; only downwards" },
  { name: "help", summary: "Show help of this verb" },
];

/** Returns the words of a verb as one string: `mcp add`. */
export function verbName(verb: Pick<Verb, "path">): string {
  return verb.path.join(" ");
}
