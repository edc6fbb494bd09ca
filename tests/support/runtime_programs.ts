/**
 * Third-party agent programs that tests run unchanged: name, pinned package, how each is started
 * and connected to a model endpoint. The preparation step installs them; none of them is shipped.
 *
 * To add one, add a row here, and its `deno.json` and `deno.lock` below `tests/runtimes/programs/`.
 *
 * @module
 */

import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import { pathsUnder } from "core/paths.ts";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import { documentedFile } from "tests/support/documented_steps.ts";
import { TREE } from "tests/support/module_graph.ts";
import { installPinned } from "tests/support/pinned_tool.ts";

/** One program. */
export interface RuntimeProgram {
  /** Name of its folder of pins, of its folder in the cache, and of its runtime definition. */
  readonly name: string;
  /** The package whose version is pinned. */
  readonly npm: string;
  /** The program's file below `node_modules`. */
  readonly file: string;
  /** Whether it is installed when `FLEETCTL_RUNTIMES` is not set. */
  readonly isDefault: boolean;
  /** Returns its runtime definition; the installed file replaces the command. */
  readonly definition: () => RuntimeDefinition;
  /**
   * Writes the files that it needs into `home` and into the program folder below `root`. Returns
   * its environment. `url` has no path.
   */
  readonly connect: (at: {
    readonly root: string;
    readonly home: string;
    readonly url: string;
  }) => Promise<Readonly<Record<string, string>>>;
  /** Returns the name of an MCP's tool as the model sees it. */
  readonly toolName: (mcp: string, tool: string) => string;
  /** The program's own tool that runs a command. */
  readonly shell: string;
  /** Returns the input of that tool; when absent, `command` with a description. */
  readonly shellInput?: (command: string) => Readonly<Record<string, unknown>>;
  /** Returns the call of the program's own tool that writes a file. */
  readonly writeCall: (path: string) => {
    readonly tool: string;
    readonly arguments: Readonly<Record<string, unknown>>;
  };
  /** Returns the command that the program runs; when absent, the command that the model gave. */
  readonly shownCommand?: (command: string) => string;
}

/**
 * Returns the input for the program's own shell, and the command that the person sees in the
 * approval.
 */
export function shellCall({ shell, shellInput, shownCommand }: RuntimeProgram, command: string) {
  const input = shellInput?.(command) ?? { command, description: "make a file" };
  return { call: { tool: shell, arguments: input }, shown: shownCommand?.(command) ?? command };
}

const CLAUDE_CODE: RuntimeProgram = {
  name: "claude-code",
  // The main package only selects this one with an install script.
  npm: "@anthropic-ai/claude-code-linux-x64",
  file: "@anthropic-ai/claude-code-linux-x64/claude",
  isDefault: true,
  definition: () => shipped("claude-code"),
  connect: ({ url }) =>
    Promise.resolve({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "key-0123456789",
    }),
  toolName: (mcp, tool) => `mcp__${mcp}__${tool}`,
  shell: "Bash",
  writeCall: (path) => ({ tool: "Write", arguments: { file_path: path, content: "x\n" } }),
};

const PI: RuntimeProgram = {
  name: "pi",
  npm: "@earendil-works/pi-coding-agent",
  // The lock contains what the program's bundle imports, and the Node that it needs.
  file: ".bin/pi",
  isDefault: true,
  definition: () => shipped("pi"),
  connect: async ({ root, home, url }) => {
    const { lib } = pathsUnder(root);
    await Deno.mkdir(lib, { recursive: true });
    await Deno.copyFile(`${TREE}units/render/pi_gate.js`, `${lib}/pi-gate.js`);
    await writeDocumented([".pi/agent/models.json", ".pi/agent/settings.json"], { home, url });
    return { OPENAI_API_KEY: "key-0123456789" };
  },
  toolName: (mcp, tool) => `mcp__${mcp}__${tool}`,
  shell: "bash",
  writeCall: (path) => ({ tool: "write", arguments: { path, content: "x\n" } }),
};

const OPENCODE: RuntimeProgram = {
  name: "opencode",
  // The main package only selects this one with an install script.
  npm: "opencode-linux-x64",
  file: "opencode-linux-x64/bin/opencode",
  isDefault: false,
  definition: () => shipped("opencode"),
  connect: async ({ home, url }) => {
    await writeDocumented([".config/opencode/opencode.json"], { home, url });
    return { OPENAI_API_KEY: "key-0123456789" };
  },
  toolName: (mcp, tool) => `${mcp}_${tool}`,
  shell: "bash",
  writeCall: (path) => ({ tool: "write", arguments: { filePath: path, content: "x\n" } }),
};

const CODEX: RuntimeProgram = {
  name: "codex",
  // The main package only starts this one.
  npm: "@openai/codex",
  file: "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex",
  isDefault: false,
  definition: () => shipped("codex"),
  connect: async ({ home, url }) => {
    await writeDocumented([".codex/config.toml"], { home, url });
    return { OPENAI_API_KEY: "key-0123456789" };
  },
  toolName: (mcp, tool) => `mcp__${mcp}__${tool}`,
  shell: "exec_command",
  shellInput: (cmd) => ({ cmd }),
  shownCommand: (command) => `/bin/bash -lc '${command}'`,
  writeCall: (path) => {
    const patch = `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch`;
    return { tool: "exec_command", arguments: { cmd: `apply_patch <<'EOF'\n${patch}\nEOF` } };
  },
};

const CLAUDE_AGENT_ACP: RuntimeProgram = {
  name: "claude-agent-acp",
  npm: "@agentclientprotocol/claude-agent-acp",
  file: ".bin/claude-agent-acp",
  isDefault: false,
  definition: () => shipped("claude-agent-acp"),
  connect: CLAUDE_CODE.connect,
  toolName: CLAUDE_CODE.toolName,
  shell: CLAUDE_CODE.shell,
  writeCall: CLAUDE_CODE.writeCall,
};

/** Writes files of the home as docs/runtime.md gives them. */
async function writeDocumented(
  paths: readonly string[],
  { home, url }: { readonly home: string; readonly url: string },
): Promise<void> {
  for (const path of paths) {
    const file = `${home}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, await documentedFile(path, url));
  }
}

/** All programs. */
export const RUNTIME_PROGRAMS: readonly RuntimeProgram[] = [
  CLAUDE_CODE,
  PI,
  OPENCODE,
  CODEX,
  CLAUDE_AGENT_ACP,
];

/**
 * Returns the programs that this run installs and tests: `FLEETCTL_RUNTIMES` is `all`, or names
 * separated by commas.
 */
export function wantedPrograms(): readonly RuntimeProgram[] {
  const wanted = Deno.env.get("FLEETCTL_RUNTIMES") ?? "";
  if (wanted === "all") return RUNTIME_PROGRAMS;
  return wanted === ""
    ? RUNTIME_PROGRAMS.filter((program) => program.isDefault)
    : wanted.split(",").map(programNamed);
}

/**
 * Declares a test for each of these programs; skipped when this run does not install the program.
 */
export function testPrograms(
  names: readonly string[],
  what: string,
  body: (program: RuntimeProgram) => Promise<void>,
): void {
  const installed = wantedPrograms();
  for (const program of names.map(programNamed)) {
    Deno.test({
      name: `${program.name} ${what}`,
      ignore: !installed.includes(program),
      fn: () => body(program),
    });
  }
}

/** Returns the program with that name. */
export function programNamed(name: string): RuntimeProgram {
  const found = RUNTIME_PROGRAMS.find((program) => program.name === name);
  if (found === undefined) throw new Error(`there is no program ${name}`);
  return found;
}

function folders({ name }: RuntimeProgram) {
  return {
    source: `${TREE}tests/runtimes/programs/${name}`,
    installed: `${TREE}.cache/runtimes/${name}`,
  };
}

/** Installs the wanted programs at their pinned versions, each once. */
export async function installPrograms(say: (line: string) => void): Promise<void> {
  for (const program of wantedPrograms()) {
    await installPinned(folders(program), () => say(`fetching the agent program ${program.name}`));
  }
}

/** Returns the folder of its packages, which can be copied as a whole. */
export function installedModules(program: RuntimeProgram): string {
  return `${folders(program).installed}/node_modules`;
}

/** Returns PATH for the program: the Node of its lock before that of the host. */
export function programPath(program: RuntimeProgram): string {
  return `${folders(program).installed}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin`;
}

/** Returns the path of the installed program. */
export function programFile(program: RuntimeProgram): string {
  return `${folders(program).installed}/node_modules/${program.file}`;
}

/** Returns the version in its pins. */
export async function pinnedVersion(program: RuntimeProgram): Promise<string> {
  const { imports } = JSON.parse(await Deno.readTextFile(`${folders(program).source}/deno.json`));
  const pinned = Object.values<string>(imports).find((to) => to.startsWith(`npm:${program.npm}@`))
    ?.slice(`npm:${program.npm}@`.length) ?? "";
  // A platform build has the platform in its version.
  return pinned.replace(/-linux-x64$/, "");
}

function shipped(name: string): RuntimeDefinition {
  const definition = shippedDefinitions().get(name);
  if (definition === undefined) throw new Error(`no runtime definition "${name}" is shipped`);
  return definition;
}
