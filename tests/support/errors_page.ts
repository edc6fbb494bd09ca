/**
 * Generates the page of refusal codes, `docs/errors.md`, from the source, so that it is always
 * current. `./dev golden` writes it; law 8 compares it.
 *
 * @module
 */

import { TREE, treeFiles } from "tests/support/module_graph.ts";

/** A string literal. An expression inside a template may contain another template. */
const LITERAL =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}|[^`\\]|\\.)*`/;
const CALL = new RegExp(
  `\\brefusal\\(\\s*"([a-z0-9-]+)",\\s*` +
    `((?:${LITERAL.source})(?:\\s*\\+\\s*(?:${LITERAL.source}))*)?`,
  "g",
);

const HEAD = `# Refusal codes

Scripts match the code (\`--json\` prints it as \`error.code\`, the HTTP routes as \`code\`); people
read the sentence. Exit codes: 1 refused or failed, 2 usage or settings, 4 denied; \`status\` and
\`doctor\` end with 3 where all works and something waits for an operator. A dot stands for what the
situation fills in. Written by \`./dev golden\` from the source.

| Code | Says | Where |
|---|---|---|
`;

function sentence(literals: string | undefined): string {
  const parts = (literals ?? "").match(new RegExp(LITERAL, "g")) ?? [];
  const text = parts.map((part) => part.slice(1, -1)).join("");
  return text
    .replace(/\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}/g, "·")
    .replace(/\\(["'\`])/g, "$1")
    .replaceAll("|", "\\|");
}

/** Returns the text that the page must have. */
export async function errorsPage(): Promise<string> {
  const rows = new Map<string, { texts: Set<string>; files: Set<string> }>();
  for (const file of await treeFiles(".ts")) {
    if (file.startsWith("tests/")) continue;
    const text = await Deno.readTextFile(TREE + file);
    for (const match of text.matchAll(CALL)) {
      const row = rows.get(match[1] ?? "") ?? { texts: new Set(), files: new Set() };
      const message = sentence(match[2]);
      if (message !== "") row.texts.add(message);
      row.files.add(file);
      rows.set(match[1] ?? "", row);
    }
  }
  const lines = [...rows].sort(([a], [b]) => a < b ? -1 : 1).map(([code, row]) =>
    `| \`${code}\` | ${[...row.texts].join("<br>")} | ${
      [...row.files].map((file) => `\`${file}\``).join(", ")
    } |`
  );
  return `${HEAD}${lines.join("\n")}\n`;
}

if (import.meta.main) await Deno.writeTextFile(`${TREE}docs/errors.md`, await errorsPage());
