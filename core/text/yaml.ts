/**
 * The only access to YAML: bounded parsing with line numbers, and edits that keep comments and
 * order. No I/O. Refuses what a config file never needs: several documents, alias bombs, huge
 * input. Only this file imports the package `yaml` (docs/dependencies.md).
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import {
  Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
} from "yaml";
import { errorText, refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Largest accepted YAML text; a shard or a manifest is a few KiB. */
export const YAML_BYTES_MAX = 256 * 1024;
/**
 * Number of times that one anchor may be expanded, nested aliases included: enough for a few uses,
 * too few for a bomb.
 */
const ALIASES_MAX = 32;
/** Number of faults shown for one file. */
const FAULTS_MAX = 20;

/** Path of a value: mapping keys and list indexes from the root. */
export type YamlPath = readonly (string | number)[];

/** A parsed file: its plain value, and the line of each part. */
export interface YamlFile {
  /** File name for messages. */
  readonly file: string;
  /** Plain data; `null` for an empty file. */
  readonly value: unknown;
  /**
   * Line (from 1) of the key or list item at `path`; the line of the nearest parent when absent.
   */
  lineOf(path: YamlPath): number;
}

/** Editing operations for the callback of `editYaml`. Missing parent mappings are created. */
export interface YamlEditor {
  /** Plain value at `path`, or undefined. */
  get(path: YamlPath): unknown;
  set(path: YamlPath, value: unknown): void;
  /** Removes the key or item; a missing one is not an error. */
  remove(path: YamlPath): void;
  /**
   * Removes a top-level key. The comment above it stays, because it may apply to more than that
   * key.
   */
  removeSection(name: string): void;
  /** Appends to the list at `path`, creating it, unless it already contains the scalar. */
  addToList(path: YamlPath, item: string): void;
  /** Removes every equal scalar from the list at `path`. */
  removeFromList(path: YamlPath, item: string): void;
}

/** Parses one YAML document; reports every syntax error with file and line. */
export function parseYaml(text: string, file: string): Result<YamlFile> {
  const parsed = parseChecked(text, file);
  if (!parsed.ok) return parsed;
  const { document, lines, value } = parsed.value;
  return ok({
    file,
    value,
    lineOf: (path) => lineOf(document, lines, path),
  });
}

/**
 * Applies `edit` to a YAML text and prints it. Keeps comments, order and quoting; an edit without a
 * change returns the same text.
 */
export function editYaml(
  text: string,
  edit: (editor: YamlEditor) => void,
  file = "the file",
): Result<string> {
  const parsed = parseChecked(text, file);
  if (!parsed.ok) return parsed;
  const { document, value } = parsed.value;
  if (document.contents === null) document.contents = document.createNode({});
  edit(createEditor(document));
  // Fill an empty file in block style, even when it is written as `{}`.
  const wasEmpty = Object.keys(value ?? {}).length === 0;
  if (wasEmpty && isMap(document.contents)) document.contents.flow = false;
  const after: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
  if (JSON.stringify(after) === JSON.stringify(value ?? {})) return ok(text);
  return ok(document.toString(printOptions(text)));
}

/** Prints plain data as YAML in block style. */
export function printYaml(value: unknown): string {
  return new Document(value).toString({ lineWidth: 0 });
}

interface Parsed {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly value: unknown;
}

function parseChecked(text: string, file: string): Result<Parsed> {
  const shown = JSON.stringify(file);
  if (byteLength(text) > YAML_BYTES_MAX) {
    return err(refusal(
      "yaml-too-large",
      `Cannot read ${shown}: the file is larger than ${YAML_BYTES_MAX} bytes`,
    ));
  }
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      uniqueKeys: true,
      merge: false,
      schema: "core",
      version: "1.2",
      prettyErrors: false,
    });
    if (document.errors.length > 0) {
      return err(invalid(
        file,
        document.errors.map((fault) =>
          `${file}:${lines.linePos(fault.pos[0]).line}: ${firstLine(fault.message)}`
        ),
      ));
    }
    const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
    return ok({ document: document as Document, lines, value });
  } catch (thrown) {
    // Deep nesting overflows the parser's stack; an alias bomb throws in `toJS`.
    return err(invalid(file, [`${file}:1: ${firstLine(errorText(thrown))}`]));
  }
}

function invalid(file: string, faults: readonly string[]) {
  const more = faults.length - FAULTS_MAX;
  return refusal("yaml-invalid", `Cannot read ${JSON.stringify(file)}: it is not valid YAML`, {
    details: more > 0
      ? [...faults.slice(0, FAULTS_MAX), `${file}: ${more} more faults`]
      : [...faults],
  });
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function lineOf(document: Document, lines: LineCounter, path: YamlPath): number {
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1
      ? document.contents
      : document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    if (!isCollection(parent)) continue;
    for (const item of parent.items) {
      if (isSeq(parent)) {
        const node = parent.items[Number(last)];
        if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
        break;
      }
      const key = (item as { key?: unknown }).key;
      if (isNode(key) && key.range && String((key as { value?: unknown }).value) === String(last)) {
        return lines.linePos(key.range[0]).line;
      }
    }
  }
  return 1;
}

function createEditor(document: Document): YamlEditor {
  const plain = (path: YamlPath): unknown => {
    const node = document.getIn([...path], true);
    return isNode(node) ? node.toJS(document) : node;
  };
  const list = (path: YamlPath): readonly unknown[] => {
    const value = plain(path);
    return Array.isArray(value) ? value : [];
  };
  return {
    get: plain,
    set: (path, value) => setIn(document, path, value),
    remove: (path) => {
      if (document.hasIn([...path])) document.deleteIn([...path]);
    },
    removeSection: (name) => {
      if (!document.has(name)) return;
      keepCommentAbove(document, name);
      document.delete(name);
    },
    addToList: (path, item) => {
      if (list(path).includes(item)) return;
      if (Array.isArray(plain(path))) document.addIn([...path], item);
      else setIn(document, path, [item]);
    },
    removeFromList: (path, item) => {
      const values = list(path);
      for (let index = values.length - 1; index >= 0; index--) {
        if (values[index] === item) document.deleteIn([...path, index]);
      }
    },
  };
}

/** Moves the comment above a top-level key to the next key. */
function keepCommentAbove({ contents: parent }: Document, name: string): void {
  if (!isMap(parent)) return;
  const at = parent.items.findIndex(({ key }) => (isScalar(key) ? key.value : key) === name);
  const key: unknown = parent.items[at]?.key;
  const comment = isScalar(key) ? key.commentBefore : undefined;
  if (comment === undefined || comment === null) return;
  const next: unknown = parent.items[at + 1]?.key;
  const join = (after: string | null | undefined) =>
    after === undefined || after === null ? comment : `${comment}\n${after}`;
  if (isScalar(next)) next.commentBefore = join(next.commentBefore);
  else parent.comment = join(parent.comment);
}

/** Like `document.setIn`, but an empty parent (`tools:`) becomes a mapping. */
function setIn(document: Document, path: YamlPath, value: unknown): void {
  for (let length = 1; length < path.length; length++) {
    const parent = path.slice(0, length);
    if (!isCollection(document.getIn(parent, true))) {
      document.setIn(parent, document.createNode({}));
    }
  }
  const before = document.getIn([...path], true);
  const after = document.createNode(value);
  // Change a scalar in place, because its comments belong to the node.
  if (isScalar(before) && isScalar(after)) before.value = after.value;
  else document.setIn([...path], after);
}

/** Keeps the author's indentation and bracket spacing, and never folds long lines. */
function printOptions(text: string) {
  const indent = /^( +)\S/m.exec(text.replace(/^ *-.*$/gm, ""))?.[1]?.length ?? 2;
  const indentSeq = !/^( *)[\w"'.-]+:[^\S\n]*(#.*)?\n(?:[^\S\n]*(#.*)?\n)*\1- /m.test(text);
  return {
    lineWidth: 0,
    indent: Math.min(Math.max(indent, 1), 8),
    indentSeq,
    flowCollectionPadding: /[[{] /.test(text),
  };
}
