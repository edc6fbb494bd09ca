/**
 * Finds references inside the tree: Markdown links, mentions of documents, of decisions (`ADR` and
 * a number) and of source files. Returns those whose target does not exist. Reads no files: the
 * caller passes in the tree.
 *
 * @module
 */

/** The tree as the caller knows it. */
export interface TreeView {
  /** Every file, relative to the tree. */
  readonly files: ReadonlySet<string>;
  /** Returns the anchors of a document of the tree. */
  anchors(document: string): ReadonlySet<string>;
}

const FOLDERS = "core|cli|gateway|login|teamchat|units|tests|docs";
/** A Markdown link with its target. */
const LINK = /\]\(([^)\s]+)\)/g;
/** A document by its path, as comments name it; not part of a longer path or address. */
const DOCUMENT =
  /(?<![\w/:.-])(?:docs\/(?:[\w/-]|\.(?=\w))*|(?:HACKING|README)\.md(?=#))(?:#[\w-]+)?/g;
/** A quoted heading after a document; an anchor should replace it, since readers can follow one. */
const HEADING = /docs\/[\w/-]+\.md,? "/g;
/** A decision by its number. */
const DECISION = /\bADR (\d{4})\b/g;
/** A source file in backquotes. */
const SOURCE = new RegExp(
  `\`((?:${FOLDERS})/[\\w./-]*\\.(?:ts|tsx|sh|pl|yaml|json|css|md))\``,
  "g",
);
/** A file of tests inside a command. */
const TEST_FILE = /(?<![\w/.-])tests\/[\w/-]+\.ts\b/g;
/** Names that stand for any file of a kind, or for a file that a run creates. */
const EXAMPLE = /verb_|<|^docs\/benchmarks\.md$/;

/** Returns a line for each reference of `text` whose target does not exist. */
export function deadLinks(file: string, text: string, tree: TreeView): readonly string[] {
  // A comment may break a line in the middle of a reference.
  const flat = text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/|#(?!#))?[ \t]*/g, " ");
  const isMarkdown = file.endsWith(".md");
  const faults = [
    ...(isMarkdown ? matches(text, LINK).filter(isLocal) : []).map((target) =>
      faultOf(tree, resolved(file, target), target)
    ),
    ...matches(flat, DOCUMENT).map((target) => faultOf(tree, target, target)),
    ...matches(flat, HEADING).map((found) => `${found}… is no link: write #anchor`),
    ...matches(flat, DECISION).map((number) => {
      const isThere = [...tree.files].some((path) => path.startsWith(`docs/adr/${number}-`));
      return isThere ? undefined : `there is no ADR ${number}`;
    }),
    ...(isMarkdown ? matches(text, TEST_FILE) : []).map((path) => faultOf(tree, path, path)),
    ...matches(text, SOURCE).filter((path) => !EXAMPLE.test(path)).map((path) =>
      faultOf(tree, path, path)
    ),
  ];
  return faults.filter((fault) => fault !== undefined).map((fault) => `${file}: ${fault}`);
}

/** Returns the anchors that a Markdown page gives its headings. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const headings = text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = ""]) =>
      heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-")
    ),
  );
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([whole, group]) => group ?? whole);
}

function isLocal(target: string): boolean {
  return !/^[a-z]+:/.test(target);
}

/** Returns the path of a link relative to the tree. */
function resolved(file: string, target: string): string {
  if (target.startsWith("#")) return file + target;
  const { pathname, hash } = new URL(target, `file:///${file}`);
  return pathname.slice(1) + hash;
}

function faultOf(tree: TreeView, target: string, written: string): string | undefined {
  const [path = "", anchor] = target.split("#");
  const folder = path.replace(/\/?$/, "/");
  const isFile = tree.files.has(path);
  if (!isFile && ![...tree.files].some((one) => one.startsWith(folder))) {
    return `${written} is not there`;
  }
  if (anchor === undefined) return undefined;
  return isFile && tree.anchors(path).has(anchor) ? undefined : `${written} has no such heading`;
}
