/**
 * Completion scripts of bash, zsh and fish, built from the verb table. Pure. No word of the table
 * contains a character that is special to a shell; a test asserts it.
 *
 * @module
 */

import { shownVerbs } from "cli/help.ts";
import { GLOBAL_OPTIONS, type Verb } from "core/verbs/verb.ts";

/** Shells with a completion script. */
export const SHELLS = ["bash", "fish", "zsh"] as const;
/** One of `SHELLS`. */
export type Shell = typeof SHELLS[number];

/** Returns the completion script of a shell. */
export function completionScript(shell: Shell): string {
  switch (shell) {
    case "bash":
      return bashScript();
    case "fish":
      return fishScript();
    case "zsh":
      return zshScript();
  }
}

/**
 * What can follow a prefix of words: the next words with their summaries, or the options of a verb.
 */
interface Node {
  readonly words: readonly string[];
  readonly next: readonly { readonly word: string; readonly summary: string }[];
  readonly options: readonly string[];
}

function nodes(): readonly Node[] {
  const verbs = shownVerbs();
  const prefixes = new Map<string, readonly string[]>();
  for (const verb of verbs) {
    for (let depth = 0; depth <= verb.path.length; depth++) {
      const words = verb.path.slice(0, depth);
      prefixes.set(words.join(" "), words);
    }
  }
  return [...prefixes.values()].map((words) => nodeAt(words, verbs));
}

function nodeAt(words: readonly string[], verbs: readonly Verb[]): Node {
  const below = verbs.filter((verb) => words.every((word, index) => verb.path[index] === word));
  const exact = below.find((verb) => verb.path.length === words.length);
  const next = new Map<string, string>();
  for (const verb of below) {
    const word = verb.path[words.length];
    if (word === undefined || next.has(word)) continue;
    const isLeaf = verb.path.length === words.length + 1;
    next.set(word, isLeaf ? verb.summary : `Verbs of ${[...words, word].join(" ")}`);
  }
  for (const choice of exact?.args[0]?.choices ?? []) {
    next.set(choice, exact?.args[0]?.summary ?? "");
  }
  const options = [...(exact?.options ?? []), ...GLOBAL_OPTIONS].map((one) => `--${one.name}`);
  return {
    words,
    next: [...next].map(([word, summary]) => ({ word, summary })),
    options: words.length === 0 ? [...options, "--version"] : options,
  };
}

function choiceCases(prefix: string): readonly string[] {
  const cases = new Map<string, readonly string[]>();
  for (const verb of shownVerbs()) {
    for (const option of verb.options) {
      if (option.choices !== undefined) cases.set(`--${option.name}`, option.choices);
    }
  }
  return [...cases].map(([name, choices]) => `${prefix}${name}) words="${choices.join(" ")}" ;;`);
}

/** The walk that bash and zsh share: find the longest known prefix, then offer what follows it. */
function walk(): readonly string[] {
  return [
    '  case "$prefix" in',
    ...nodes().map(({ words, next, options }) =>
      `    "${words.join(" ")}") next="${next.map((one) => one.word).join(" ")}"; ` +
      `options="${options.join(" ")}" ;;`
    ),
    "    *) return 1 ;;",
    "  esac",
  ];
}

function bashScript(): string {
  return [
    "# bash completion of fleetctl; made by: fleetctl completion bash",
    "_fleetctl_at() {",
    '  local prefix="$1"',
    ...walk(),
    "}",
    "_fleetctl() {",
    '  local current="${COMP_WORDS[COMP_CWORD]}" previous="" path="" next="" options="" ' +
    'words="" word=""',
    '  [ "$COMP_CWORD" -gt 0 ] && previous="${COMP_WORDS[COMP_CWORD-1]}"',
    '  _fleetctl_at ""',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "$word" in -*) continue ;; esac',
    '    _fleetctl_at "${path:+$path }$word" && path="${path:+$path }$word"',
    "  done",
    '  case "$current" in -*) words="$options" ;; *) words="$next" ;; esac',
    '  case "$previous" in',
    ...choiceCases("    "),
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    "}",
    "complete -F _fleetctl fleetctl",
    "",
  ].join("\n");
}

function zshScript(): string {
  return [
    "#compdef fleetctl",
    "# zsh completion of fleetctl; made by: fleetctl completion zsh",
    "_fleetctl_at() {",
    '  local prefix="$1"',
    ...walk(),
    "}",
    "_fleetctl() {",
    '  local path="" next="" options="" words_here="" word="" previous="${words[CURRENT-1]}"',
    '  _fleetctl_at ""',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    "    [[ $word == -* ]] && continue",
    '    _fleetctl_at "${path:+$path }$word" && path="${path:+$path }$word"',
    "  done",
    '  if [[ "${words[CURRENT]}" == -* ]]; then words_here="$options"; else words_here="$next"; fi',
    '  case "$previous" in',
    ...choiceCases("    ").map((line) => line.replace("words=", "words_here=")),
    "  esac",
    "  compadd -- ${=words_here}",
    "}",
    'if [ "$funcstack[1]" = "_fleetctl" ]; then _fleetctl "$@"; else compdef _fleetctl ' +
    "fleetctl; fi",
    "",
  ].join("\n");
}

function fishScript(): string {
  const lines = [
    "# fish completion of fleetctl; made by: fleetctl completion fish",
    "function __fleetctl_at",
    "    set -l typed (commandline -opc)",
    "    set -e typed[1]",
    "    set -l words (string match -v -- '-*' $typed)",
    '    test "$words" = "$argv"',
    "end",
    "complete -c fleetctl -f",
  ];
  for (const { words, next } of nodes()) {
    const at = `-n '__fleetctl_at ${words.join(" ")}'`;
    for (const { word, summary } of next) {
      lines.push(`complete -c fleetctl ${at} -a '${word}' -d '${fishText(summary)}'`);
    }
  }
  for (const verb of shownVerbs()) {
    const seen = verb.path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    for (const option of verb.options) {
      const takes = option.value === undefined ? "" : " -x";
      const choices = option.choices === undefined ? "" : ` -a '${option.choices.join(" ")}'`;
      lines.push(
        `complete -c fleetctl -n '${seen}' -l ${option.name}${takes}${choices} -d '${
          fishText(option.summary)
        }'`,
      );
    }
  }
  for (const option of GLOBAL_OPTIONS) {
    const takes = option.value === undefined ? "" : " -x";
    lines.push(`complete -c fleetctl -l ${option.name}${takes} -d '${fishText(option.summary)}'`);
  }
  return `${lines.join("\n")}\n`;
}

function fishText(text: string): string {
  return text.replace(/\\/g, "\\\\").replace(/'/g, "\\'");
}
