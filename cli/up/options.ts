/**
 * Parses the options of `fleetctl up`: the ports, the folder that the agents may read, the model,
 * and whether to send one turn. Does not access the machine.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { byteLength } from "core/text/cut_text.ts";

/** Default `--port-base`. It yields the documented ports (8731, 8735, 8736). */
export const PORT_BASE_DEFAULT = 8730;

/**
 * As long as the longest name of the shipped catalog. A socket path contains an MCP and an agent
 * name.
 */
const LONGEST = "agent-message";

/** The arguments as typed, by their names in the verb table. */
export interface UpArguments {
  readonly listen?: string | undefined;
  readonly "port-base"?: string | undefined;
  readonly workdir?: string | undefined;
  readonly turn?: string | undefined;
  readonly agent?: string | undefined;
  readonly "model-from"?: string | undefined;
  readonly model?: string | undefined;
  readonly teamchat?: boolean | undefined;
}

/** Parsed options. The root is in the context, because every verb finds it in the same way. */
export interface UpOptions {
  /** Address of the dial and login listeners. The cockpit always binds 127.0.0.1. */
  readonly listen: string;
  /** 0 picks free ports. */
  readonly portBase: number;
  /** Folder that the agents' `git` may read; relative to the working folder. */
  readonly workdir: string | undefined;
  readonly turn: string | undefined;
  readonly agent: AgentName;
  /** Source of the model: a provider whose key is in the environment, an address, or `none`. */
  readonly modelFrom: string | undefined;
  /** Model id; when absent, `firstModel` chooses one. */
  readonly model: string | undefined;
  /** Also runs the team-chat gateway. */
  readonly isTeamchatHere: boolean;
}

/** Ports of the listeners for one base. */
export function portsFrom(base: number): {
  readonly cockpit: number;
  readonly dial: number;
  readonly login: number;
  readonly teamchat: number;
} {
  // The documented port of team chat is not in this range.
  const teamchat = base === PORT_BASE_DEFAULT ? 3978 : base + 8;
  return { cockpit: base + 1, dial: base + 5, login: base + 6, teamchat };
}

/** Returns an absolute path without `.`, `..` and doubled slashes. */
export function absolutePath(path: string, cwd: string): string {
  const segments: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${cwd}/${path}`).split("/")) {
    if (part === "..") segments.pop();
    else if (part !== "" && part !== ".") segments.push(part);
  }
  return `/${segments.join("/")}`;
}

/** Refuses a root that cannot contain a host, before anything is written to it. */
export function checkRoot(root: string): Result<void> {
  if (root === "/") {
    return err(
      refusal("root-unusable", 'Cannot use root "/": must be a separate folder', {
        kind: "usage",
        hints: ["fleetctl up --root ~/.fleetctl"],
      }),
    );
  }
  const bytes = byteLength(pathsUnder(root).agentMcpSocket(LONGEST, LONGEST));
  if (bytes <= DAEMON_LIMITS.socketPathLengthMax) return ok(undefined);
  return err(
    refusal(
      "root-too-long",
      `Cannot use root "${root}": its sockets would have paths of ${bytes} bytes, must be at ` +
        `most ${DAEMON_LIMITS.socketPathLengthMax}`,
      { kind: "usage", hints: ["fleetctl up --root /tmp/fleetctl"] },
    ),
  );
}

/** Refuses a working folder that does not exist or is not a folder. */
export async function checkWorkdir(
  files: Pick<Files, "stat">,
  workdir: string | undefined,
): Promise<Result<void>> {
  const stat = workdir === undefined ? undefined : await files.stat(workdir);
  if (workdir === undefined || stat?.kind === "directory" || stat?.kind === "symlink") {
    return ok(undefined);
  }
  const state = stat === undefined ? "not there" : `a ${stat.kind}`;
  return err(
    refusal(
      "workdir-unusable",
      `Cannot use working folder "${workdir}": it is ${state}, must be a folder`,
      { kind: "usage", hints: ["fleetctl up --workdir ~"] },
    ),
  );
}

/** Parses the options. Reports every fault at once. */
export function parseUpOptions(given: UpArguments): Result<UpOptions> {
  const faults: string[] = [];
  const portBase = given["port-base"] === undefined
    ? PORT_BASE_DEFAULT
    : /^\d{1,5}$/.test(given["port-base"])
    ? Number(given["port-base"])
    : NaN;
  if (!(portBase === 0 || portBase >= 1024 && portBase <= 65_500)) {
    faults.push(
      `--port-base: value is "${
        given["port-base"]
      }", must be a number from 1024 to 65500, or 0 for free ports`,
    );
  }
  const listen = given.listen ?? "127.0.0.1";
  if (!/^[0-9a-fA-F.:]+$/.test(listen)) {
    faults.push(`--listen: value is "${listen}", must be an IP address such as 0.0.0.0`);
  }
  const turnBytes = byteLength(given.turn ?? "");
  if (given.turn !== undefined && given.turn.trim() === "") {
    faults.push("--turn: the text is empty");
  }
  if (turnBytes > TURN_LIMITS.textBytesMax) {
    faults.push(
      `--turn: the text has ${turnBytes} bytes, must have at most ${TURN_LIMITS.textBytesMax}`,
    );
  }
  const agent = parseAgentName(given.agent ?? "ada");
  if (!agent.ok) faults.push(`--agent: ${agent.error.message}`);
  if (given.agent !== undefined && given.turn === undefined) {
    faults.push("--agent: names the agent of --turn, which is not given");
  }
  const modelFrom = given["model-from"];
  if (modelFrom !== undefined && !isModelSource(modelFrom)) {
    faults.push(
      "--model-from: must be anthropic, openai, the address of an endpoint such as " +
        "http://127.0.0.1:11434/v1, or none",
    );
  }
  if (given.model !== undefined && (modelFrom === undefined || modelFrom === "none")) {
    faults.push("--model: names the model of --model-from, which is not given");
  }
  if (faults.length > 0 || !agent.ok) {
    const found = faults.length === 1 ? "1 option is" : `${faults.length} options are`;
    return err(refusal("options-invalid", `Cannot start: ${found} unusable`, {
      kind: "usage",
      details: faults,
      hints: ["fleetctl up --help"],
    }));
  }
  return ok({
    listen,
    portBase,
    workdir: given.workdir,
    turn: given.turn,
    agent: agent.value,
    modelFrom,
    model: given.model,
    isTeamchatHere: given.teamchat === true,
  });
}

function isModelSource(text: string): boolean {
  return ["anthropic", "openai", "none"].includes(text) ||
    (/^https?:\/\//.test(text) && URL.canParse(text));
}
