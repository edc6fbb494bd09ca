/**
 * Types of a row in the verb table: words, arguments, options, and who may run it. A row without
 * `scope` does not compile. One function, `core/verbs/authorize.ts`, defines what a scope means.
 * Why: ADR 0006.
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
 * - `self_or_gateway`: as `self`, and the gateway's own user on behalf of the agent's owner.
 * - `self_or_root`: the target is the caller; another target needs root, admin is not enough.
 * - `self_or_host`: as `self` when the target is an agent, as `operator` for the whole host.
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
 * Where a verb runs.
 * - `here`: in the caller's process, with the caller's permissions.
 * - `root`: as root. The daemon runs it, except a verb of root that only reads or follows. Without
 *   a daemon, root's own process runs it.
 * - `root_for_peer`: `here` for the caller's own agent, `root` for another one.
 */
export type VerbPlace = "here" | "root" | "root_for_peer";

/** One positional argument, in order; only the last ones may be optional. */
export interface Argument {
  readonly name: string;
  readonly optional?: true;
  /** Accepts all remaining words. */
  readonly rest?: true;
  /** The only values accepted. */
  readonly choices?: readonly string[];
  /** As for an option: `-` reads stdin, and no argument list or audit row contains the value. */
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
  /** Files to attach. The caller's process reads them and sends their content as input. */
  readonly isFile?: true;
  /**
   * The value is a secret: `-` reads it from stdin. It leaves this process only through stdin,
   * never in an argument list.
   */
  readonly secret?: true;
  /** Switches (`no-key`) and values (`provider=demo`) with which the secret is not requested. */
  readonly unless?: readonly string[];
  readonly summary: string;
}

/** Where a verb names its target agent, and the default target. */
export interface TargetRule {
  readonly from: "argument" | "option";
  readonly name: string;
  /**
   * - `required`: parsing fails.
   * - `host`: the whole host.
   * - `caller`: the calling agent; a caller that is not an agent (root) must name one.
   * - `caller_or_host`: the calling agent; for a caller that is no agent (root), the whole host.
   * - `agent_or_host`: the calling agent; for root and for an admin agent, the whole host.
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
  /**
   * The dial unit of the host itself (user `fleetctl-host`) may run it, as a job that an admin's
   * owner requested in the page (`core/dial/host_job.ts`).
   */
  readonly isHostJob?: true;
  readonly runs: VerbPlace;
  /** Changes the host: it continues when its client disconnects. */
  readonly mutates: boolean;
  /**
   * Runs as long as its client watches. For root it runs in root's own process, without a slot in
   * the daemon. For other callers, the daemon tells it when the client has disconnected.
   */
  readonly follows?: true;
  /** Serves its client while it runs: reads the client's stdin to its end. */
  readonly hasInput?: true;
  readonly summary: string;
  /**
   * Deletes data permanently, or gives far-reaching rights. On a terminal the user must type the
   * name of the target; elsewhere the switch `--yes` is required.
   */
  readonly confirms?: true | {
    /** Confirmation is only required with this switch; without it, no data is lost. */
    readonly withSwitch: string;
    /** The word to type when the verb has no target. */
    readonly word: string;
  } | {
    /** Confirmation is only required when this option has this value. */
    readonly withOption: string;
    readonly is: string;
    /** The argument whose value must be typed. */
    readonly argument: string;
    /** What the change means, after the command. */
    readonly means: string;
  };
  /** One command line that can be pasted. */
  readonly example: string;
  /** Documented but not implemented: hidden, and refused with `verb-not-available`. */
  readonly later?: true;
  /** Implemented, but not shown in help. */
  readonly hidden?: true;
}

/** Options that every verb accepts. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  { name: "json", summary: "Print one JSON document instead of text" },
  { name: "as", value: "agent", summary: "Act as this agent, with no more rights than your own" },
  { name: "help", summary: "Show help of this verb" },
];

/** Returns the words of a verb as one string: `mcp add`. */
export function verbName(verb: Pick<Verb, "path">): string {
  return verb.path.join(" ");
}
