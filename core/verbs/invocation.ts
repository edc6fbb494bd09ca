/**
 * Parses an argument list into a verb with its arguments, driven by the verb table. Makes no
 * decision about the caller and has no effects. Splitting options into tokens is a port, because
 * the platform has a good parser (`core/os/argv.ts`).
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { printShell } from "core/text/quote.ts";
import { nearest } from "core/verbs/nearest.ts";
import { err, ok, type Result } from "core/result.ts";
import { matchVerb, VERBS, verbsUnder } from "core/verbs/table.ts";
import {
  type Argument,
  GLOBAL_OPTIONS,
  type Option,
  type Verb,
  verbName,
} from "core/verbs/verb.ts";
import type { ArgumentToken } from "core/text/argument_token.ts";

/** Splits an argument list; `options` defines which options take a value. */
export type Tokenize = (
  argv: readonly string[],
  options: readonly Option[],
) => readonly ArgumentToken[];

/** A verb with its arguments and options. Values are raw text. */
export interface Invocation {
  readonly verb: Verb;
  readonly args: Readonly<Record<string, string>>;
  /** Values of the last argument, when its row has `rest`. */
  readonly rest: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly switches: ReadonlySet<string>;
  readonly json: boolean;
  readonly as: string | undefined;
}

/** A parsed argument list. */
export type Request =
  | { readonly kind: "help"; readonly words: readonly string[] }
  | { readonly kind: "version"; readonly json: boolean }
  | { readonly kind: "run"; readonly invocation: Invocation };

/** Parses an argument list without the program name. */
export function parseRequest(argv: readonly string[], tokenize: Tokenize): Result<Request> {
  const words = leadingWords(argv);
  const verb = matchVerb(words);
  if (verb === undefined) return parseWithoutVerb(argv, words);
  if (verb.later) return err(notAvailable(verb));
  const tokens = tokenize(argv, [...verb.options, ...GLOBAL_OPTIONS]);
  const has = (name: string) => tokens.some((one) => one.kind === "option" && one.name === name);
  if (has("help")) return ok({ kind: "help", words: verb.path });
  const invocation = bind(verb, tokens);
  return invocation.ok ? ok({ kind: "run", invocation: invocation.value }) : invocation;
}

/** Returns the refusal of a verb that is documented but not implemented yet. */
export function notAvailable(verb: Verb): Refusal {
  return refusal(
    "verb-not-available",
    `Cannot run "${verbName(verb)}": this version does not have it yet, must be one of the verbs ` +
      `in help`,
    { kind: "usage", hints: ["fleetctl help"] },
  );
}

/** Returns the positional words before the first option that is not global. */
function leadingWords(argv: readonly string[]): readonly string[] {
  const words: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const item = argv[index] ?? "";
    if (!item.startsWith("-") || item === "-") words.push(item);
    else if (item === "--as") index++;
    else if (!["--json", "--help", "-h"].includes(item) && !item.startsWith("--as=")) break;
  }
  return words;
}

function parseWithoutVerb(argv: readonly string[], words: readonly string[]): Result<Request> {
  const isVersion = argv.includes("--version") || argv.includes("-V");
  if (isVersion && words.length === 0) {
    return ok({ kind: "version", json: argv.includes("--json") });
  }
  const wantsHelp = argv.includes("--help") || argv.includes("-h");
  const isGroup = verbsUnder(words).length > 0;
  if (isGroup && !wantsHelp && hasAsWithoutValue(argv)) {
    return err(
      refusal("usage", 'Cannot use option "--as": it has no value, must be <agent>', {
        kind: "usage",
        hints: [`fleetctl ${[...words, "--help"].join(" ")}`],
      }),
    );
  }
  const strange = argv.find((item) =>
    item.startsWith("-") && !["--json", "--help", "-h", "--as"].includes(item) &&
    !item.startsWith("--as=")
  );
  if (isGroup && (wantsHelp || strange === undefined)) return ok({ kind: "help", words });
  if (words.length === 0 || isGroup) {
    return err(
      refusal("option-unknown", `Cannot use option "${strange}": no verb was named before it`, {
        kind: "usage",
        hints: [`fleetctl ${[...words, "--help"].join(" ")}`],
      }),
    );
  }
  return err(unknownVerb(words));
}

/**
 * Tells whether `--as` lacks its value. If it does, an argument list without a verb is an error,
 * not a request for help.
 */
function hasAsWithoutValue(argv: readonly string[]): boolean {
  const at = argv.indexOf("--as");
  const next = argv[at + 1] ?? "";
  return argv.includes("--as=") || (at >= 0 && (next === "" || next.startsWith("-")));
}

function unknownVerb(words: readonly string[]): Refusal {
  const known = VERBS.filter((verb) => !verb.later && !verb.hidden);
  const depth = knownDepth(words);
  const typed = words.slice(0, depth + 1).join(" ");
  const candidates = new Set<string>();
  for (const verb of known) {
    candidates.add(verb.path.slice(0, depth + 1).join(" "));
    candidates.add(verbName(verb));
  }
  // Compare only the wrong word: the correct words before it would distort the distance.
  const below = new Set(verbsUnder(words.slice(0, depth)).map((verb) => verb.path[depth] ?? ""));
  const group = words.slice(0, depth).join(" ");
  const last = depth === 0 ? undefined : nearest(words[depth] ?? "", [...below]);
  const guess = depth === 0
    ? nearest(typed, [...candidates]) ?? nearest(words.join(" "), [...candidates])
    : last === undefined
    ? undefined
    : `${group} ${last}`;
  return refusal(
    "verb-unknown",
    `Cannot run "${typed}": there is no such verb, must be one of the verbs in help`,
    {
      kind: "usage",
      hints: [
        guess === undefined
          ? ["fleetctl help", ...words.slice(0, depth)].join(" ")
          : `fleetctl ${guess} --help`,
      ],
    },
  );
}

/** Returns how many leading words are the start of a verb. */
function knownDepth(words: readonly string[]): number {
  let depth = 0;
  while (depth < words.length && verbsUnder(words.slice(0, depth + 1)).length > 0) depth++;
  return depth;
}

function bind(verb: Verb, tokens: readonly ArgumentToken[]): Result<Invocation> {
  const faults: string[] = [];
  const options: Record<string, string> = {};
  const switches = new Set<string>();
  const known = [...verb.options, ...GLOBAL_OPTIONS];
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const option = known.find((one) => one.name === token.name);
    const fault = option === undefined
      ? unknownOption(token.rawName, known)
      : optionFault(option, token, option.name in options || switches.has(option.name));
    if (fault !== undefined) faults.push(fault);
    else if (option?.value === undefined) switches.add(token.name);
    else options[option.name] = joined(options[option.name], token.value ?? "");
  }
  const bound = bindArguments(
    verb.args,
    tokens.flatMap((token) => token.kind === "positional" ? [token.value] : [])
      .slice(verb.path.length),
  );
  faults.push(...bound.faults);
  if (faults.length > 0) {
    const [only] = faults;
    const found = faults.length === 1 ? only : `${faults.length} errors in the arguments`;
    return err(refusal("usage", `Cannot run "${verbName(verb)}": ${found}`, {
      kind: "usage",
      details: faults.length === 1 ? [] : faults,
      hints: [`fleetctl ${verbName(verb)} --help`],
    }));
  }
  const { as, ...own } = options;
  return ok({
    verb,
    args: bound.args,
    rest: bound.rest,
    options: own,
    switches: new Set([...switches].filter((name) => name !== "json")),
    json: switches.has("json"),
    as,
  });
}

/** Joins the values of a repeatable option with line breaks; other options have one value. */
function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}\n${value}`;
}

/** Returns the option with which an invocation attaches files, if it does. */
export function fileOption({ verb, options }: Invocation): string | undefined {
  return verb.options.find(({ name, isFile }) => isFile === true && name in options)?.name;
}

/** Whether a verb reads input while it runs. */
export function readsInput(invocation: Invocation): boolean {
  return invocation.verb.hasInput === true || fileOption(invocation) !== undefined;
}

/** Returns the values of a repeatable option. */
export function repeated(invocation: Invocation, name: string): readonly string[] {
  const text = invocation.options[name];
  return text === undefined ? [] : text.split("\n");
}

function unknownOption(rawName: string, known: readonly Option[]): string {
  const guess = nearest(rawName, known.map((option) => `--${option.name}`));
  return `there is no option "${rawName}"${guess === undefined ? "" : `, did you mean "${guess}"`}`;
}

/** Returns the fault in a value; never repeats the value of a secret option. */
function optionFault(
  option: Option,
  token: Extract<ArgumentToken, { kind: "option" }>,
  isRepeated: boolean,
): string | undefined {
  const name = `option "--${option.name}"`;
  if (isRepeated && !option.repeat) return `${name} is given twice, must be given once`;
  if (option.value === undefined) {
    return token.isInline ? `${name} has a value, must have none` : undefined;
  }
  if (token.value === undefined) return `${name} has no value, must be <${option.value}>`;
  if (!token.isInline && token.value.startsWith("-") && token.value !== "-") {
    return `${name} is followed by an option, must be <${option.value}> ` +
      `(a value that starts with "-" is written --${option.name}=<${option.value}>)`;
  }
  if (option.choices !== undefined && !option.choices.includes(token.value)) {
    return `${name} is "${token.value}", must be one of ${option.choices.join(", ")}`;
  }
  return undefined;
}

function bindArguments(rows: readonly Argument[], words: readonly string[]) {
  const args: Record<string, string> = {};
  const faults: string[] = [];
  let rest: readonly string[] = [];
  let used = 0;
  for (const row of rows) {
    if (row.rest) {
      rest = words.slice(used);
      used = words.length;
      if (rest.length === 0 && !row.optional) faults.push(`<${row.name}> is missing`);
      continue;
    }
    const word = words[used];
    if (word === undefined) {
      if (!row.optional) faults.push(`<${row.name}> is missing`);
      continue;
    }
    used++;
    if (row.choices !== undefined && !row.choices.includes(word)) {
      faults.push(`<${row.name}> is "${word}", must be ${choiceText(row.choices)}`);
    } else args[row.name] = word;
  }
  if (used < words.length) faults.push(`unexpected argument "${words[used]}"`);
  return { args, rest, faults };
}

function choiceText(choices: readonly string[]): string {
  return choices.length === 1 ? `"${choices[0]}" or left out` : `one of ${choices.join(", ")}`;
}

/** Returns the typed command line for a hint, with `--as` and without secret options. */
export function printTyped(invocation: Invocation): string {
  const { verb, options, switches, as } = invocation;
  const words = wordsOf(invocation);
  const given = verb.options.filter((option) => !option.secret).flatMap((option) => {
    const value = options[option.name];
    if (switches.has(option.name)) return [`--${option.name}`];
    if (value === undefined) return [];
    const values = option.repeat === true ? value.split("\n") : [value];
    return values.flatMap((one) =>
      one.startsWith("-") ? [`--${option.name}=${one}`] : [`--${option.name}`, one]
    );
  });
  const who = as === undefined ? [] : ["--as", as];
  return printShell([...verb.path, ...words, ...given, ...who]);
}

/**
 * Prints an invocation as an argument list: the verb's words, then options, then arguments after
 * `--`, so that no argument is parsed as an option. Secret values are printed as `-`. A repeatable
 * option is printed once per value.
 */
export function printInvocation(invocation: Invocation): readonly string[] {
  const { verb, options, switches, json } = invocation;
  const printed: string[] = [...verb.path];
  for (const option of verb.options) {
    const value = options[option.name];
    if (switches.has(option.name)) printed.push(`--${option.name}`);
    else if (option.secret) printed.push(`--${option.name}=-`);
    else if (value !== undefined) {
      const values = option.repeat === true ? value.split("\n") : [value];
      printed.push(...values.map((one) => `--${option.name}=${one}`));
    }
  }
  if (json) printed.push("--json");
  const words = wordsOf(invocation);
  return words.length === 0 ? printed : [...printed, "--", ...words];
}

/** Returns the values of the arguments, with `-` for a secret one. */
export function wordsOf({ verb, args, rest }: Invocation): readonly string[] {
  return verb.args.flatMap((row) => {
    const word = args[row.name];
    if (row.rest) return rest;
    return word === undefined ? [] : row.secret ? ["-"] : [word];
  });
}
