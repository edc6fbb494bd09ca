/**
 * Classifies what changed between the tools of two versions of a server, and marks the changes that
 * widen what an agent may do or what its model reads. No I/O.
 *
 * | Class | Widens | Example |
 * |---|---|---|
 * | `new-tool` | yes | a tool that the old version lacks |
 * | `new-address` | yes | a URL, host or e-mail address in a text that the model reads |
 * | `new-instruction` | yes | a text that instructs the model beyond the call, or hides characters |
 * | `annotation-flip` | yes | `readOnlyHint` or `destructiveHint` flips: the tool does more, or claims more trust |
 * | `annotation-flip` | if it turns true | `openWorldHint` flips |
 * | `breaking` | no | a parameter that is removed, now required, or of another type |
 * | `new-optional` | no | a new optional parameter |
 * | `wording` | no | any other text |
 * | `removed-tool` | no | a tool that was removed |
 *
 * The patterns of `new-instruction` list published tricks; they prove nothing. Any other trick
 * shows as `wording`, with both texts.
 *
 * @module
 */

import { canonicalJson, type LockedTool } from "core/catalog/tool_lock.ts";

/** Class of one change. */
export type ChangeClass =
  | "new-tool"
  | "new-address"
  | "new-instruction"
  | "annotation-flip"
  | "breaking"
  | "new-optional"
  | "wording"
  | "removed-tool";

/** One change of one tool. */
export interface ToolChange {
  readonly tool: string;
  readonly kind: ChangeClass;
  readonly widens: boolean;
  /** What changed, in one line. */
  readonly text: string;
}

type Tools = ReadonlyMap<string, LockedTool>;

/** Addresses and hosts in prose. */
const ADDRESS =
  /[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>)\]}]+|[\w.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+|\bdata:[a-z]+\/[a-z]+[;,]/gi;
/** Texts that instruct the model about something other than this call's arguments. */
const INSTRUCTIONS: readonly RegExp[] = [
  /\bignore\b[^.]{0,40}\b(previous|prior|above|other|all)\b/i,
  /\b(do not|don't|never|without)\b[^.]{0,40}\b(tell|mention|inform|show|reveal|notify|ask)/i,
  /<\s*(important|system|secret|hidden|instructions?)\b/i,
  /\bsystem prompt\b/i,
  /\b(before|after|when|whenever)\b[^.]{0,60}\b(call|use|us|invok)[a-z]*\b[^.]{0,40}\b(tool|this|any|other)\b[^.]{0,60}\b(must|always|first|also|read|send|include|pass|forward)\b/i,
  /\b(read|send|include|pass|forward|attach|copy|bcc)\b[^.]{0,60}(~\/|\.ssh|\.env\b|\bid_rsa\b|private key|credential|password|api[ _-]?key|access token|conversation|chat history)/i,
  /\b(always|must|also)\b[^.]{0,30}\b(bcc|cc|forward|copy)\b/i,
];
/** Characters that a person cannot see and a model reads. */
const HIDDEN =
  /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u{e0000}-\u{e007f}]/u;
/** The default of each hint (MCP, "Tool annotations"), and whether a flip either way widens. */
const FLIPS: readonly (readonly [hint: string, defaultValue: boolean, eitherWay: boolean])[] = [
  ["readOnlyHint", false, true],
  ["destructiveHint", true, true],
  ["openWorldHint", true, false],
];

/** Returns every change, sorted by tool; the widening ones of a tool come first. */
export function diffTools(before: Tools, after: Tools): readonly ToolChange[] {
  const changes: ToolChange[] = [];
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const old = before.get(name);
    const next = after.get(name);
    if (old?.hash === next?.hash) continue;
    const found = old === undefined
      ? addedTool(name, next)
      : next === undefined
      ? [change(name, "removed-tool", false, "was removed")]
      : changedTool(name, old, next);
    changes.push(...[...found].sort((a, b) => Number(b.widens) - Number(a.widens)));
  }
  return changes;
}

function change(tool: string, kind: ChangeClass, widens: boolean, text: string): ToolChange {
  return { tool, kind, widens, text };
}

function addedTool(name: string, next: LockedTool | undefined): readonly ToolChange[] {
  const texts = textsOf(next?.definition);
  return [change(name, "new-tool", true, "is new"), ...newTexts(name, [], texts)];
}

function changedTool(name: string, old: LockedTool, next: LockedTool): readonly ToolChange[] {
  const found = [
    ...newTexts(name, textsOf(old.definition), textsOf(next.definition)),
    ...annotationChanges(name, old.definition, next.definition),
    ...parameterChanges(name, old.definition, next.definition),
  ];
  if (found.length > 0) return found;
  return [change(name, "wording", false, wordingText(old.definition, next.definition))];
}

function wordingText(old: LockedTool["definition"], next: LockedTool["definition"]): string {
  const [from, to] = [String(old["description"] ?? ""), String(next["description"] ?? "")];
  return from === to
    ? "a text of its parameters or its output changed"
    : `${JSON.stringify(clip(from))} became ${JSON.stringify(clip(to))}`;
}

function clip(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

/**
 * Returns every text of a definition at any depth: the model also reads descriptions of parameters.
 */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [key, ...textsOf(one)]);
}

function newTexts(
  tool: string,
  before: readonly string[],
  after: readonly string[],
): readonly ToolChange[] {
  const known = new Set(before);
  const fresh = after.filter((text) => !known.has(text));
  const addressesBefore = addressesIn(before.join("\n"));
  const changes: ToolChange[] = [];
  for (const address of addressesIn(fresh.join("\n"))) {
    // The identifiers of JSON Schema dialects are names, not addresses.
    if (addressesBefore.has(address) || /^https?:\/\/json-schema\.org\//.test(address)) continue;
    changes.push(change(tool, "new-address", true, `names ${JSON.stringify(clip(address))}`));
  }
  for (const text of fresh) {
    const instruction = INSTRUCTIONS.map((rule) => rule.exec(text)?.[0]).find((match) => match);
    if (instruction !== undefined) {
      changes.push(
        change(
          tool,
          "new-instruction",
          true,
          `contains the instruction ${JSON.stringify(clip(instruction))}`,
        ),
      );
    }
    if (HIDDEN.test(text)) {
      changes.push(change(tool, "new-instruction", true, "contains invisible characters"));
    }
  }
  return changes;
}

/** Returns the addresses in a text. */
export function addressesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(ADDRESS)].map(([found]) => found.replace(/[.,;:]+$/, "")));
}

function annotationChanges(
  tool: string,
  old: LockedTool["definition"],
  next: LockedTool["definition"],
): readonly ToolChange[] {
  const hint = (definition: LockedTool["definition"], name: string, defaultValue: boolean) => {
    const value = (definition["annotations"] as Record<string, unknown> | undefined)?.[name];
    return typeof value === "boolean" ? value : defaultValue;
  };
  return FLIPS.flatMap(([name, defaultValue, eitherWay]) => {
    const from = hint(old, name, defaultValue);
    const to = hint(next, name, defaultValue);
    if (from === to) return [];
    const widens = eitherWay || to;
    return [change(tool, "annotation-flip", widens, `${name} changed from ${from} to ${to}`)];
  });
}

interface Shape {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: ReadonlySet<string>;
}

function shapeOf(definition: LockedTool["definition"]): Shape {
  const schema = (definition["inputSchema"] ?? {}) as Record<string, unknown>;
  const properties = schema["properties"];
  const required = schema["required"];
  return {
    properties: typeof properties === "object" && properties !== null
      ? properties as Record<string, unknown>
      : {},
    required: new Set(Array.isArray(required) ? required.map(String) : []),
  };
}

function parameterChanges(
  tool: string,
  oldDefinition: LockedTool["definition"],
  nextDefinition: LockedTool["definition"],
): readonly ToolChange[] {
  const [old, next] = [shapeOf(oldDefinition), shapeOf(nextDefinition)];
  const changes: ToolChange[] = [];
  for (const name of Object.keys(next.properties)) {
    if (name in old.properties) continue;
    changes.push(
      next.required.has(name)
        ? change(tool, "breaking", false, `needs the new parameter "${name}"`)
        : change(tool, "new-optional", false, `accepts the new parameter "${name}"`),
    );
  }
  for (const [name, before] of Object.entries(old.properties)) {
    const after = next.properties[name];
    if (after === undefined) {
      changes.push(change(tool, "breaking", false, `no longer accepts "${name}"`));
    } else if (rulesOf(before) !== rulesOf(after)) {
      changes.push(change(tool, "breaking", false, `changed the type of "${name}"`));
    } else if (!old.required.has(name) && next.required.has(name)) {
      changes.push(change(tool, "breaking", false, `"${name}" is now required`));
    }
  }
  return changes;
}

/** Returns a schema as canonical JSON, without the texts that only explain it. */
function rulesOf(schema: unknown): string {
  return canonicalJson(withoutTexts(schema));
}

function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, one]) =>
        !(["description", "title", "examples", "$comment"].includes(key) &&
          typeof one !== "object") && key !== "examples"
      )
      .map(([key, one]) => [key, withoutTexts(one)]),
  );
}
