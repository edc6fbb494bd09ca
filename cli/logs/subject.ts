/**
 * Resolves the argument of `fleetctl logs` (a role, an agent or an MCP) to units. Checks whether
 * the caller may read their logs. Pure. The unit names come from the rendered files, so logs can be
 * read even when the ledger or the catalog cannot.
 *
 * | Word | Units | May be read by |
 * |---|---|---|
 * | `gateway`, `login`, `daemon` … | the role's | operators |
 * | an agent, `self` | its dial unit, which runs its runtime | that agent, operators |
 * | an MCP | its sockets and servers | operators; an agent, if the server runs as that agent |
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Caller, callerAgent, isOperator } from "core/verbs/caller.ts";
import { unitOfPath } from "units/reconcile/observe.ts";
import type { RecordedFile } from "units/reconcile/record.ts";
import { ROLE_UNITS } from "units/render/unit_name.ts";

/** Kinds that may prefix a word, as in `mcp:git`. */
const KINDS = ["role", "agent", "mcp"] as const;

/** The inputs of the decision. */
export interface LogContext {
  readonly paths: Paths;
  readonly caller: Caller;
  readonly files: readonly RecordedFile[];
}

/** Returns the units, sorted. A template stands for all its instances. */
export function logUnits(word: string, context: LogContext): Result<readonly string[]> {
  const [, kind, rest = word] = /^(role|agent|mcp):(.*)$/.exec(word) ?? [];
  const own = callerAgent(context.caller);
  const name = rest === "self" && own !== undefined ? own : rest;
  const wanted = kind === undefined ? KINDS : [kind];
  const isAll = isOperator(context.caller);
  if (wanted.includes("role") && Object.hasOwn(ROLE_UNITS, name)) {
    const unit = ROLE_UNITS[name] ?? "";
    return isAll ? ok([unit]) : err(denied(name, "it is the log of a role of the host"));
  }
  const units = context.files.flatMap((file) => {
    const unit = unitNameOf(file.path, context.paths);
    return unit === undefined ? [] : [{ ...file, unit }];
  });
  const readable = units.filter((file) => isAll || file.agent === own);
  const ofAgent = readable.filter((file) => file.agent === name && file.mcp === undefined);
  const ofMcp = readable.filter((file) => file.mcp === name);
  const found = wanted.includes("agent") && ofAgent.length > 0
    ? ofAgent
    : wanted.includes("mcp")
    ? ofMcp
    : [];
  if (found.length > 0) return ok(found.map((file) => file.unit).sort());
  return err(isAll ? unknown(word, context) : notOwn(word));
}

/**
 * Returns the unit of a path. Includes templates, unlike `unitOfPath`: their instances write the
 * logs.
 */
function unitNameOf(path: string, paths: Paths): string | undefined {
  if (path.startsWith(`${paths.units}/`) && path.endsWith("@.service")) {
    return path.slice(paths.units.length + 1);
  }
  return unitOfPath(path, paths);
}

function denied(name: string, why: string) {
  return refusal("logs-denied", `Cannot show the logs of "${name}": ${why}`, {
    kind: "denied",
    hints: ["fleetctl logs self"],
  });
}

/**
 * Returns the same refusal for existing and missing subjects, so that an agent cannot tell which
 * exist.
 */
function notOwn(word: string) {
  return refusal(
    "logs-denied",
    `Cannot show the logs of ${JSON.stringify(word)}: it is neither the caller nor an MCP that ` +
      "runs as the caller, must be one of them",
    { kind: "denied", hints: ["fleetctl logs self", "fleetctl mcp wired self"] },
  );
}

/** The refusal for operators, who may read every log. */
function unknown(word: string, context: LogContext) {
  const names = [
    ...new Set(context.files.flatMap((file) => [file.agent ?? [], file.mcp ?? []].flat())),
  ].sort();
  return refusal(
    "log-subject-unknown",
    `Cannot show the logs of ${JSON.stringify(word)}: this host has no role, ` +
      "agent or MCP of that name",
    {
      details: [`known names: ${[...Object.keys(ROLE_UNITS), ...names].join(", ")}`],
      hints: ["fleetctl status"],
    },
  );
}
