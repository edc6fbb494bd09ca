/**
 * The transcripts of `tests/scripts`, in parts that run in parallel: each part is a test file.
 *
 * @module
 */

import { runScript } from "tests/support/script.ts";

const FOLDER = new URL("./", import.meta.url);

/** Name and text of every transcript, in order. */
export const SCRIPTS: readonly (readonly [name: string, text: string])[] = [
  ...Deno.readDirSync(FOLDER),
]
  .filter((entry) => entry.name.endsWith(".txtar"))
  .map((entry) => [entry.name, Deno.readTextFileSync(new URL(entry.name, FOLDER))] as const)
  .sort(([a], [b]) => a < b ? -1 : 1);

/** Prefixes of the names in each part; the parts take about the same time. */
const PARTS = {
  agents: /^(agents|apply|approvals|audit|defaults|host|questions)/,
  mcp: /^(mcp|secret)/,
} as const;

/** Defines a test for each transcript of a part; `others` contains those that match no part. */
export function testScripts(part: keyof typeof PARTS | "others"): void {
  const isOther = (name: string) => !Object.values(PARTS).some((names) => names.test(name));
  for (const [name, text] of SCRIPTS) {
    if (!(part === "others" ? isOther(name) : PARTS[part].test(name))) continue;
    Deno.test(`fleetctl does what tests/scripts/${name} says`, async () => {
      await runScript(text);
    });
  }
}
