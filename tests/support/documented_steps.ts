/**
 * The steps by which `docs/runtime.md` makes a program an agent's runtime: commands, and files of
 * the agent's home. Tests follow them, so that the page stays true.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";

/** Address of the model endpoint in the files of the page. */
export const DOCUMENTED_ENDPOINT = "https://api.openai.com";

function page(): Promise<string> {
  return Deno.readTextFile(`${TREE}docs/runtime.md`);
}

/** Returns the commands of the section, without those that install packages. */
export async function documentedCommands(section: string): Promise<readonly string[]> {
  const from = (await page()).split(`\n### ${section}\n`)[1] ?? "";
  const [, block = ""] = /^```sh\n([^]*?)^```$/m.exec(from.split(/^##/m)[0] ?? "") ?? [];
  const lines = block.trim().split("\n");
  if (!lines.some((line) => line.includes("--runtime "))) {
    throw new Error(`docs/runtime.md has no steps in "${section}"`);
  }
  return lines.filter((line) => !/^(apt-get|npm) /.test(line));
}

/** Returns the text that the page gives for a file of the home, with this endpoint. */
export async function documentedFile(path: string, endpoint: string): Promise<string> {
  const [, after = ""] = (await page()).split(`\`~/${path}\`:\n`);
  const [, text] = /^\n```\w+\n([^]*?)^```$/m.exec(after) ?? [];
  if (text === undefined) throw new Error(`docs/runtime.md has no text for "${path}"`);
  return text.replaceAll(DOCUMENTED_ENDPOINT, endpoint);
}
