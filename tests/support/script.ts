/**
 * Runs transcripts of `fleetctl` (`tests/scripts/*.txtar`) in this process on a temporary root with
 * real files, real git and no service manager. One line, one command:
 *
 * | Command | Meaning |
 * |---|---|
 * | `exec fleetctl …` / `! exec …` | must exit 0 / must not; `exec:4` must exit 4 |
 * | `stdout 'regex'` / `! stdout 'regex'` | about the last exec; likewise `stderr` |
 * | `stdin 'text'` | stdin of the next exec |
 * | `file path ['regex']` / `! file path` | a file under the root exists (and matches) |
 * | `mode path 0640` | its permission bits |
 * | `write path 'text'`, `append path 'text'` | writes a file under the root; `\\n` is a line break |
 * | `forget KEY …` | removes keys from the shared shard, as if the store had lost them |
 * | `sql path 'statements'` | runs SQL in a database under the root; a backtick stands for an SQL quote |
 * | `socket path 0600` | creates a socket on which nothing listens |
 * | `age path days` | makes a file or folder that old |
 * | `remove path` | removes a file under the root |
 * | `capture NAME 'regex'` | sets `$NAME` to the group of the regex in the last stdout |
 * | `manager on` | from now on a service manager answers, and every unit starts |
 * | `answer 'text'` / `! answer 'text'` | what the MCP server answers from now on; with `!`, an error |
 * | `ask agent mcp tool 'json'` | a call of that agent waits for approval from now on |
 * | `used agent days ['json']` | a turn of that agent ended so many days ago, with this usage |
 * | `question agent mcp 'message' 'schema or address'` | a question waits; `mcp` may be '' |
 * | `types 'line' …` | what a person types at the terminal of the next command; prompts are in stderr |
 * | `withdraw agent` | the program that asked the agent's questions has ended |
 * | `http 'text' [status 'header: value'…]` | from now on, answers every HTTP request with this (status 200 by default) and the request's id; before that, every request fails |
 *
 * `$ROOT`, `$HOST` and captured names are replaced. Files after `-- path --` are written before the
 * first command.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { runCli } from "cli/run.ts";
import type { HostName } from "core/names.ts";
import { splitArguments } from "core/os/argv.ts";
import { openHost } from "core/os/host.ts";
import { denoTrees } from "core/os/vendor.ts";
import { pathsUnder } from "core/paths.ts";
import { changeStore } from "core/secrets/store.ts";
import { NO_TERMINAL } from "core/verbs/daemon_frames.ts";
import { err, ok } from "core/result.ts";
import { fakeHttp } from "tests/fakes/http.ts";
import { noServices, startsEverything } from "tests/support/no_services.ts";
import { type ScriptAsks, scriptAsks } from "tests/support/script_asks.ts";
import type { McpClient } from "core/ports/mcp_client.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** Name of the machine in scripts. */
export const SCRIPT_HOST = "atlas" as HostName;

interface Line {
  readonly number: number;
  readonly text: string;
}

interface Script {
  readonly lines: readonly Line[];
  readonly files: readonly (readonly [path: string, text: string])[];
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs one transcript; an error names the line that failed. */
export async function runScript(text: string, ports?: Partial<VerbPorts>): Promise<void> {
  const script = parseScript(text);
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  const asks = scriptAsks(root);
  try {
    for (const [path, content] of script.files) await writeFile(`${root}/${path}`, content);
    await new Runner(root, { http: noHttp(), ...ports }, asks).run(script.lines);
  } finally {
    await asks.close();
    await Deno.remove(root, { recursive: true });
  }
}

/** Scripts do not depend on what listens on this machine's own ports. */
function noHttp(): VerbPorts["http"] {
  return fakeHttp(() => Promise.reject(new TypeError("connection refused")));
}

/** Answers every request with a text, a status, headers, and the request's id. */
function answering([text = "", status = "200", ...lines]: readonly string[]): VerbPorts["http"] {
  const given = lines.map((line) => line.split(": ", 2) as [string, string]);
  return fakeHttp(({ headers }) => {
    const id = headers.get("x-request-id");
    const sent = new Headers(given);
    if (id !== null) sent.set("x-request-id", id);
    return new Response(unescape(text), { status: Number(status), headers: sent });
  });
}

function parseScript(text: string): Script {
  const lines: Line[] = [];
  const files: [string, string][] = [];
  let number = 0;
  for (const line of text.split("\n")) {
    number++;
    const start = /^-- (.+) --$/.exec(line);
    const file = files.at(-1);
    if (start?.[1] !== undefined) files.push([start[1], ""]);
    else if (file !== undefined) file[1] += `${line}\n`;
    else if (line.trim() !== "" && !line.startsWith("#")) lines.push({ number, text: line.trim() });
  }
  return { lines, files: files.map(([path, content]) => [path, content.replace(/\n\n$/, "\n")]) };
}

class Runner {
  private last: Outcome = { code: 0, stdout: "", stderr: "" };
  private stdin: string | undefined;
  private typed: readonly string[] | undefined;
  private ports: Partial<VerbPorts>;
  private readonly captured = new Map<string, string>();

  constructor(
    private readonly root: string,
    ports: Partial<VerbPorts>,
    private readonly asks: ScriptAsks,
  ) {
    this.ports = ports;
  }

  async run(lines: readonly Line[]): Promise<void> {
    for (const { number, text } of lines) {
      try {
        await this.command(text);
      } catch (thrown) {
        const { code, stdout, stderr } = this.last;
        const at = thrown instanceof Error ? thrown.message : String(thrown);
        throw new Error(
          `line ${number}: ${text}\n${at}\n--- exit ${code}\n--- stdout\n${stdout}--- stderr\n` +
            `${stderr}`,
        );
      }
    }
  }

  private async command(text: string): Promise<void> {
    let filled = text.replaceAll("$ROOT", this.root).replaceAll("$HOST", SCRIPT_HOST);
    for (const [name, value] of this.captured) filled = filled.replaceAll(`$${name}`, value);
    const words = splitWords(filled);
    const isNot = words[0] === "!";
    const [name = "", ...args] = isNot ? words.slice(1) : words;
    if (/^exec(:\d)?$/.test(name)) return await this.exec(name, isNot, args);
    switch (name) {
      case "stdout":
      case "stderr":
        return this.match(this.last[name], args[0] ?? "", isNot);
      case "stdin":
        this.stdin = unescape(args[0] ?? "");
        return;
      case "types":
        this.typed = args;
        return;
      case "manager":
        this.ports = { ...this.ports, services: startsEverything() };
        return;
      case "http":
        this.ports = { ...this.ports, http: answering(args) };
        return;
      case "answer": {
        const client = answers(unescape(args[0] ?? ""), isNot);
        this.ports = { ...this.ports, openMcpClient: async () => client };
        return;
      }
      case "ask":
        return await this.asks.ask(args[0] ?? "", args[1] ?? "", args[2] ?? "", args[3] ?? "");
      case "used":
        return await this.asks.used(args[0] ?? "", args[1] ?? "", args[2]);
      case "question":
        return await this.asks.question(args[0] ?? "", args[1] ?? "", args[2] ?? "", args[3] ?? "");
      case "withdraw":
        return await this.asks.withdraw(args[0] ?? "");
      case "file":
        return await this.file(args, isNot);
      case "mode": {
        const stat = await Deno.lstat(`${this.root}/${args[0]}`);
        const mode = `0${((stat.mode ?? 0) & 0o777).toString(8)}`;
        return assert.equal(mode, args[1]);
      }
      case "forget":
        return await forgetKeys(this.root, args);
      case "remove":
        return await Deno.remove(`${this.root}/${args[0]}`);
      case "sql":
        return await this.sql(args[0] ?? "", args[1] ?? "");
      case "socket":
        return await this.socket(args[0] ?? "", args[1] ?? "");
      case "age": {
        const time = new Date(Date.now() - Number(args[1]) * 86_400_000);
        return await Deno.utime(`${this.root}/${args[0]}`, time, time);
      }
      case "write":
        return await writeFile(`${this.root}/${args[0]}`, unescape(args[1] ?? ""));
      case "append":
        return await Deno.writeTextFile(`${this.root}/${args[0]}`, unescape(args[1] ?? ""), {
          append: true,
        });
      case "capture": {
        const found = new RegExp(args[1] ?? "", "m").exec(this.last.stdout)?.[1];
        assert.ok(found !== undefined, "does not match");
        return void this.captured.set(args[0] ?? "", found);
      }
      default:
        throw new Error(`there is no command "${name}"`);
    }
  }

  private async sql(path: string, statement: string): Promise<void> {
    using database = new DatabaseSync(await this.inFolder(path));
    database.exec(statement.replaceAll("`", "'"));
  }

  private async socket(path: string, mode: string): Promise<void> {
    const fifo = await this.inFolder(path);
    const made = await new Deno.Command("mkfifo", { args: [fifo] }).output();
    assert.ok(made.success);
    await Deno.chmod(fifo, parseInt(mode, 8));
  }

  /** Returns the path of a file below the root and creates its folder. */
  private async inFolder(name: string): Promise<string> {
    const path = `${this.root}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    return path;
  }

  private async exec(name: string, isNot: boolean, args: readonly string[]): Promise<void> {
    assert.equal(args[0], "fleetctl");
    this.last = await runFleetctl(args.slice(1), {
      root: this.root,
      stdin: this.stdin,
      typed: this.typed,
      ports: this.ports,
    });
    this.stdin = undefined;
    this.typed = undefined;
    const wanted = name.includes(":") ? Number(name.slice("exec:".length)) : undefined;
    if (wanted !== undefined) assert.equal(this.last.code, wanted, "exit code");
    else if (isNot) assert.notEqual(this.last.code, 0, "must not exit 0");
    else assert.equal(this.last.code, 0, "must exit 0");
  }

  private match(text: string, pattern: string, isNot: boolean): void {
    const matches = new RegExp(pattern, "m").test(text);
    assert.equal(matches, !isNot, isNot ? "matches, must not" : "does not match");
  }

  private async file([path, pattern]: readonly string[], isNot: boolean): Promise<void> {
    const text = await Deno.readTextFile(`${this.root}/${path}`).catch(() => undefined);
    if (isNot && pattern === undefined) return assert.equal(text, undefined, "file is there");
    assert.ok(text !== undefined, "file is not there");
    if (pattern !== undefined) this.match(text, pattern, isNot);
  }
}

/** Runs one command line under a root, as the owner of that root. */
export async function runFleetctl(
  argv: readonly string[],
  at: {
    readonly root: string;
    readonly stdin?: string | undefined;
    /** Lines that a person types; without them there is no terminal. */
    readonly typed?: readonly string[] | undefined;
    readonly ports?: Partial<VerbPorts>;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<Outcome> {
  const outcome: Outcome = { code: 0, stdout: "", stderr: "" };
  const lines: string[] = [];
  const typed = at.typed === undefined ? undefined : [...at.typed];
  outcome.code = await runCli(argv, {
    version: "0.0.0",
    env: { ...at.env, FLEETCTL_ROOT: at.root },
    cwd: at.root,
    terminal: NO_TERMINAL,
    tokenize: splitArguments,
    takeOverStop: () => new AbortController().signal,
    openPorts: async () => ({
      ...openHost({ log: { program: "fleetctl", level: "error" } }),
      trees: denoTrees(),
      openMcpClient: async () => {
        throw new Error("no MCP server runs in scripts");
      },
      hostname: SCRIPT_HOST,
      memoryBytes: () => undefined,
      services: noServices,
      startManager: async () =>
        err({ code: "none", kind: "refused", message: "none", details: [], hints: [] }),
      ...at.ports,
    }),
    out: async (text) => void (outcome.stdout += text),
    err: async (text) => void lines.push(text),
    readStdin: async () => ok(at.stdin ?? ""),
    openStdin: () => new Blob([at.stdin ?? ""]).stream(),
    promptSecret: async () => undefined,
    promptLine: async (label) => {
      if (typed !== undefined) lines.push(`${label}\n`);
      return typed?.shift();
    },
  });
  outcome.stderr = lines.join("");
  return outcome;
}

function unescape(text: string): string {
  return text.replaceAll("\\n", "\n");
}

/** Removes shared keys from the store of a root. */
async function forgetKeys(root: string, keys: readonly string[]): Promise<void> {
  const host = openHost({ log: { program: "fleetctl", level: "error" } });
  const done = await changeStore(host, pathsUnder(root), {
    author: { verb: "test", caller: "root" },
    summary: "forget",
    change: (store) => {
      const shared = new Map([...store.shards.shared].filter(([key]) => !keys.includes(key)));
      return ok({ ...store, shards: { ...store.shards, shared } });
    },
  });
  assert.ok(done.ok, JSON.stringify(done));
}

/** An MCP server with a constant answer; its result names the call. */
function answers(text: string, isError: boolean): McpClient {
  return {
    listTools: async () =>
      ok([{ name: "git_log", description: "Says the same", inputSchema: {}, definition: {} }]),
    callTool: async (mcp, at, call) =>
      ok({
        isError,
        text,
        result: { mcp, at, call: { ...call }, content: [{ type: "text", text }] },
      }),
  };
}

async function writeFile(path: string, text: string): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, text);
}

/** Splits words at blanks; quoted text stays together. */
function splitWords(text: string): readonly string[] {
  return [...text.matchAll(/'([^']*)'|(\S*?)'([^']*)'|(\S+)/g)].map((match) =>
    match[1] ?? (match[3] === undefined ? match[4] ?? "" : `${match[2]}${match[3]}`)
  );
}
