/**
 * Help from the verb table: the overview, one group, or one verb with its example. Pure. It imports
 * only the table, so that `--help` stays fast.
 *
 * @module
 */

import { verbNamed, VERBS, verbsUnder } from "core/verbs/table.ts";
import { GLOBAL_OPTIONS, type Option, type Verb, verbName } from "core/verbs/verb.ts";

const INTRO = `fleetctl keeps a fleet of agents, their MCP tool servers and their gateways.`;
const SCOPES: Readonly<Record<Verb["scope"], string>> = {
  anyone: "anyone",
  agent: "any agent, about itself",
  operator: "root or an admin agent",
  gateway: "root or an admin agent; the gateway for a first key",
  self: "an agent for itself; for another agent root or an admin agent",
  self_or_gateway:
    "an agent for itself; for another agent root, an admin agent, or the gateway for its owner",
  self_or_root: "an agent for itself; for another agent root only",
  self_or_host: "an agent for itself; for the whole host root or an admin agent",
};

/** Returns the help of a verb or a group; undefined if no such verb or group exists. */
export function helpText(path: readonly string[]): string | undefined {
  const verb = verbNamed(path.join(" "));
  if (verb !== undefined) return verb.later ? undefined : verbHelp(verb);
  const verbs = verbsUnder(path);
  if (verbs.length === 0) return undefined;
  const head = path.length === 0 ? `${INTRO}\n` : `Verbs below "fleetctl ${path.join(" ")}"\n`;
  return [
    head,
    `Usage: fleetctl ${[...path, "<verb>"].join(" ")} [arguments] [options]\n`,
    "Verbs:",
    ...aligned(verbs.map((one) => [verbName(one), one.summary])),
    "",
    "Options of every verb:",
    ...aligned([...GLOBAL_OPTIONS.map(optionRow), ...(path.length === 0 ? [VERSION_ROW] : [])]),
    "",
    `Help of one verb, with an example: fleetctl ${[...path, "<verb>"].join(" ")} --help`,
    "",
  ].join("\n");
}

const VERSION_ROW: readonly [string, string] = ["--version", "Print the version"];

/** Returns the usage line of a verb: `fleetctl mcp add <mcp> <agent> [--force]`. */
export function usageLine(verb: Verb): string {
  const words = verb.args.map((row) => {
    const choice = row.choices?.length === 1 ? row.choices[0] : undefined;
    const name = choice ?? `<${row.name}>`;
    return row.optional ? `[${name}${row.rest ? "…" : ""}]` : `${name}${row.rest ? "…" : ""}`;
  });
  const options = verb.options.map((option) => `[${optionRow(option)[0]}]`);
  return ["fleetctl", ...verb.path, ...words, ...options].join(" ");
}

function verbHelp(verb: Verb): string {
  const args = verb.args.map((row): [string, string] => [
    `<${row.name}>`,
    row.summary + (row.choices && row.choices.length > 1 ? ` (${row.choices.join(", ")})` : ""),
  ]);
  return [
    verb.summary,
    "",
    `Usage: ${usageLine(verb)}`,
    ...(args.length === 0 ? [] : ["", "Arguments:", ...aligned(args)]),
    ...(verb.options.length === 0 ? [] : ["", "Options:", ...aligned(verb.options.map(optionRow))]),
    "",
    "Options of every verb:",
    ...aligned(GLOBAL_OPTIONS.map(optionRow)),
    "",
    `Allowed for: ${SCOPES[verb.scope]}`,
    "",
    "Example:",
    `  ${verb.example}`,
    "",
  ].join("\n");
}

function optionRow(option: Option): [string, string] {
  const choices = option.choices === undefined ? "" : ` (${option.choices.join(", ")})`;
  return [
    option.value === undefined ? `--${option.name}` : `--${option.name} <${option.value}>`,
    option.summary + choices,
  ];
}

function aligned(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`);
}

/** Returns every verb that help lists, sorted. */
export function shownVerbs(): readonly Verb[] {
  return VERBS.filter((verb) => !verb.later && !verb.hidden);
}
