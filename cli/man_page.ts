/**
 * The manual page `fleetctl(1)` in roff, from the verb table. Pure.
 *
 * @module
 */

import { shownVerbs, usageLine } from "cli/help.ts";
import { GLOBAL_OPTIONS, type Option } from "core/verbs/verb.ts";

const FILES = [
  ["/etc/fleetctl/roles.yaml", "Roles of this host; written by the install and remove verbs."],
  ["/etc/fleetctl/host.yaml", "Names the hosts of the gateways."],
  ["/etc/fleetctl/host.key", "This host's key to the secret store."],
  ["/var/lib/fleetctl/repo", "The ledger: agents, catalog and secret store."],
  ["/var/backups/fleetctl-*.age", "Backups made by a purge, encrypted to the recovery keys."],
] as const;

/** Returns the manual page. */
export function manPage(version: string): string {
  const lines = [
    `.TH FLEETCTL 1 "" "fleetctl ${version}" "User Commands"`,
    ".SH NAME",
    "fleetctl \\- keep a fleet of agents, their MCP tool servers and their gateways",
    ".SH SYNOPSIS",
    ".B fleetctl",
    ".I verb",
    "[\\fIarguments\\fR] [\\fIoptions\\fR]",
    ".SH VERBS",
  ];
  for (const verb of shownVerbs()) {
    lines.push(".TP", `.B ${roff(usageLine(verb))}`, roff(verb.summary) + ".");
    for (const option of verb.options) lines.push(...optionLines(option));
    lines.push(".br", `Example: \\fB${roff(verb.example)}\\fR`);
  }
  lines.push(".SH OPTIONS OF EVERY VERB");
  for (const option of GLOBAL_OPTIONS) {
    lines.push(".TP", `.B ${roff(optionName(option))}`, `${roff(option.summary)}.`);
  }
  lines.push(
    ".SH EXIT STATUS",
    "0 success, 1 refused or failed, 2 wrong usage or settings, 4 permission denied.",
    ".SH ENVIRONMENT",
    ".TP",
    ".B FLEETCTL_ROOT",
    "Root folder of the installation; default /.",
    ".TP",
    ".B NO_COLOR",
    "If set and not empty, the output has no colour.",
    ".SH FILES",
    ...FILES.flatMap(([path, what]) => [".TP", `.I ${roff(path)}`, roff(what)]),
    ".SH SEE ALSO",
    "The documents in",
    ".IR /usr/share/doc/fleetctl .",
  );
  return `${lines.join("\n")}\n`;
}

function optionLines(option: Option): readonly string[] {
  return [".br", `\\fB${roff(optionName(option))}\\fR  ${roff(option.summary)}.`];
}

function optionName(option: Option): string {
  return option.value === undefined ? `--${option.name}` : `--${option.name} <${option.value}>`;
}

/** Escapes text for roff: backslashes, hyphens that must stay ASCII, control lines, ellipses. */
function roff(text: string): string {
  return text.replace(/\\/g, "\\e").replace(/-/g, "\\-").replace(/…/g, "...").replace(
    /^([.'])/,
    "\\&$1",
  );
}
