/**
 * Risk marks of a new entry: which tools need a human's approval before each call, and how an
 * operator overrides that. A server's own claims are not enough to avoid a mark: a tool that claims
 * to be read-only but is called `delete_page` still gets `ask`. No I/O.
 *
 * | Known about a tool | Mark |
 * |---|---|
 * | claims to be read-only (`readOnlyHint`), and its name fits | none |
 * | anything else | `ask` |
 * | nothing: the server could not be tried out, or is reached by URL | `ask`, by the mark of `*` |
 * | the operator set a mark | that one; `allow` means no mark |
 *
 * @module
 */

import { checkToolName, EVERY_TOOL } from "core/catalog/manifest_rules.ts";
import type { LockedTool } from "core/catalog/tool_lock.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";
import { editYaml } from "core/text/yaml.ts";

/** A mark that an operator can set; `allow` means no mark. */
export type Mark = "ask" | "block" | "allow";

/** Tool → mark. */
export type Marks = ReadonlyMap<string, Mark>;

/** A mark that the operator did not set, and the reason for it. */
export interface ProposedMark {
  readonly tool: string;
  readonly risk: "ask";
  readonly why: string;
}

type Definition = LockedTool["definition"];

const MARKS = ["ask", "block", "allow"] as const;
/**
 * Words that mean a change, anywhere in a name: `git_commit`, `dbPush`. Some are also nouns
 * (`get_commit`); such a tool needs approval until an operator removes the mark.
 */
const CHANGES: ReadonlySet<string> = new Set(
  ("add alter append apply approve archive assign cancel checkout clear close commit create " +
    "delete deploy destroy disable drop edit enable eval exec execute forward grant import " +
    "insert install invite kill merge migrate modify move overwrite patch pay post publish " +
    "purge push put rebase refund reject remove rename replace reply reset restart restore " +
    "revert revoke rm rollback run save send set share start stop submit terminate transfer " +
    "trigger truncate uninstall unset update upload upsert wipe write").split(" "),
);

/** Returns why a tool is not known to be read-only; undefined if it is. */
export function reasonToAsk(tool: string, definition: Definition): string | undefined {
  const hints = isRecord(definition["annotations"]) ? definition["annotations"] : {};
  if (hints["readOnlyHint"] !== true) {
    return hints["destructiveHint"] === true
      ? "claims to be destructive (destructiveHint)"
      : "does not claim to be read-only (readOnlyHint)";
  }
  if (hints["destructiveHint"] === true) return "claims to be read-only and destructive";
  const word = changingWord(tool);
  return word === undefined ? undefined : `claims to be read-only, but its name contains "${word}"`;
}

/** Returns the first changing word of a name, split at non-letters and at camel-case boundaries. */
function changingWord(tool: string): string | undefined {
  return tool.normalize("NFKC")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase().split(/[^a-z]+/)
    .find((word) => CHANGES.has(word));
}

/** Parses values of `--risk`: `tool=ask|block|allow`. */
export function parseMarks(texts: readonly string[]): Result<Marks> {
  const marks = new Map<string, Mark>();
  for (const text of texts) {
    const at = text.lastIndexOf("=");
    const tool = text.slice(0, Math.max(at, 0));
    const mark = MARKS.find((one) => one === text.slice(at + 1));
    const isEvery = tool === EVERY_TOOL && mark !== "block";
    if (mark === undefined || marks.has(tool) || !(isEvery || checkToolName(tool) === undefined)) {
      return err(refusal(
        "mark-invalid",
        `Cannot mark ${JSON.stringify(text.slice(0, 160))}: it is not a mark, must have the form ` +
          `tool=${MARKS.join("|")}, each tool once`,
        { kind: "usage", details: [`"${EVERY_TOOL}" means every tool, and can be ask or allow`] },
      ));
    }
    marks.set(tool, mark);
  }
  return ok(marks);
}

/** Refuses a mark for a tool that the server does not list: it would have no effect. */
export function checkMarked(marks: Marks, known: Iterable<string>): Result<void> {
  const names = new Set(known);
  const missing = [...marks.keys()].find((tool) => tool !== EVERY_TOOL && !names.has(tool));
  if (missing === undefined) return ok(undefined);
  return err(refusal(
    "tool-unknown",
    `Cannot mark tool ${
      JSON.stringify(missing)
    }: the server lists no such tool, must be one of its tools`,
    { kind: "usage", details: [...names].sort().slice(0, 50) },
  ));
}

/**
 * Proposes marks for the tools of a first version, or of a review that accepts them. `tools` is
 * undefined if they could not be listed. Marks in `operatorMarks` were decided by an operator.
 */
export function proposeMarks(
  tools: ReadonlyMap<string, LockedTool> | undefined,
  operatorMarks: Pick<Marks, "has" | "get">,
): readonly ProposedMark[] {
  // A mark of `*` may be lifted later, so tools are also marked one by one.
  if (operatorMarks.get(EVERY_TOOL) === "allow") return [];
  const every = (why: string): ProposedMark => ({ tool: EVERY_TOOL, risk: "ask", why });
  if (tools === undefined) {
    return operatorMarks.has(EVERY_TOOL) ? [] : [every("its tools are unknown")];
  }
  const proposed = [...tools].flatMap(([tool, { definition }]) => {
    const why = operatorMarks.has(tool) ? undefined : reasonToAsk(tool, definition);
    return why === undefined ? [] : [{ tool, risk: "ask" as const, why }];
  });
  const odd = proposed.find(({ tool }) => checkToolName(tool) !== undefined);
  return odd === undefined ? proposed : [
    ...proposed.filter(({ tool }) => checkToolName(tool) === undefined),
    every(`the name ${JSON.stringify(odd.tool.slice(0, 80))} cannot be marked on its own`),
  ];
}

/**
 * Proposes marks for what a review accepts. If an operator accepted a tool without a mark although
 * it was not known to be read-only, that decision stays.
 */
export function proposeForReview(
  held: ReadonlyMap<string, LockedTool>,
  accepted: ReadonlyMap<string, LockedTool>,
  operatorMarks: Pick<Marks, "has" | "get">,
): readonly ProposedMark[] {
  const fresh = [...held].filter(([tool]) => {
    const before = accepted.get(tool);
    return before === undefined || reasonToAsk(tool, before.definition) === undefined;
  });
  return proposeMarks(new Map(fresh), operatorMarks);
}

/** Writes marks into a manifest; `allow` removes a mark. */
export function setMarks(
  text: string,
  marks: Iterable<readonly [tool: string, mark: Mark]>,
  file: string,
): Result<string> {
  return editYaml(text, (editor) => {
    for (const [tool, mark] of marks) {
      if (mark !== "allow") editor.set(["tools", tool, "risk"], mark);
      else if (editor.get(["tools", tool, "read_only"]) === undefined) {
        editor.remove(["tools", tool]);
      } else editor.remove(["tools", tool, "risk"]);
    }
    const left = editor.get(["tools"]);
    if (isRecord(left) && Object.keys(left).length === 0) editor.remove(["tools"]);
  }, file);
}

/** Returns proposals as pairs for `setMarks`. */
export function markPairs(
  proposed: readonly ProposedMark[],
): readonly (readonly [tool: string, mark: Mark])[] {
  return proposed.map(({ tool, risk }) => [tool, risk]);
}
