/**
 * From an argument list to an exit code: parse, determine caller and target, authorize, then run
 * the verb here or through the daemon, and print. The program that the daemon runs as root uses the
 * same `runVerb`, so the output is identical.
 *
 * @module
 */

import { COMMANDS } from "cli/commands.ts";
import type { CliDeps } from "cli/context.ts";
import { exitCode, refusalJson, refusalLines, refusalOfFault } from "cli/exit.ts";
import { helpText } from "cli/help.ts";
import { defined } from "core/defined.ts";
import { withLocalCommand, withLocalHints } from "core/hints/local_hints.ts";
import { versionText } from "cli/help/answer.ts";
import { confirm } from "cli/confirm.ts";
import { type Authorized, recordDirectly } from "cli/record_directly.ts";
import { withYamlCache } from "cli/yaml_cache_file.ts";
import { printBlocks, type VerbReport, withCommands } from "cli/output.ts";
import { createProgress } from "cli/progress.ts";
import { readSecretValue } from "cli/secret_value.ts";
import { giveUpReserve } from "cli/reserve.ts";
import { openInput } from "cli/attachments.ts";
import type { Files } from "core/ports/files.ts";
import { whoIs } from "core/verbs/who.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { parseAgentName } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { authorize, needsRoot } from "core/verbs/authorize.ts";
import { type Caller, callerFor } from "core/verbs/caller.ts";
import { connectDaemon, forward } from "core/verbs/daemon_client.ts";
import {
  type Invocation,
  parseRequest,
  printInvocation,
  printTyped,
} from "core/verbs/invocation.ts";
import { type Addressed, addressFor } from "core/verbs/target.ts";
import { verbName } from "core/verbs/verb.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** Runs the command line, prints everything, and returns the exit code. */
export async function runCli(argv: readonly string[], deps: CliDeps): Promise<number> {
  const wantsJson = argv.includes("--json");
  try {
    const request = parseRequest(argv, deps.tokenize);
    if (!request.ok) return await printRefusal(request.error, wantsJson, deps);
    switch (request.value.kind) {
      case "version":
        await deps.out(versionText(deps.version, request.value.json));
        return 0;
      case "help":
        await deps.out(helpText(request.value.words) ?? "");
        return 0;
      case "run":
        return await runInvocation(request.value.invocation, deps);
    }
  } catch (thrown) {
    return await printRefusal(refusalOfFault(thrown, "finish"), wantsJson, deps);
  }
}

/** Runs one verb for a known caller in this process. */
export async function runVerb(
  addressed: Addressed,
  at: { readonly caller: Caller; readonly paths: Paths; readonly ports: VerbPorts },
  deps: CliDeps & { readonly secretValue: string | undefined },
): Promise<number> {
  const { invocation, target } = addressed;
  const name = verbName(invocation.verb);
  const load = COMMANDS[name];
  if (load === undefined) throw new Error(`verb "${name}" has no file`);
  const progress = createProgress(
    (text) => void deps.err(text),
    deps.terminal,
    invocation.switches.has("steps") ? "begins" : invocation.json ? "quiet" : "usual",
  );
  let outcome: Result<VerbReport>;
  try {
    const command = await load();
    const options = command.parseOptions(invocation);
    if (!options.ok) {
      return await printRefusal(withHelp(options.error, invocation), invocation.json, deps);
    }
    const cacheContext = { ports: at.ports, paths: at.paths, version: deps.version };
    outcome = await withYamlCache(cacheContext, () =>
      command.run({
        ports: at.ports,
        paths: at.paths,
        caller: at.caller,
        target,
        typed: printTyped(invocation),
        version: deps.version,
        env: deps.env,
        cwd: deps.cwd,
        terminal: deps.terminal,
        progress,
        tokenize: deps.tokenize,
        write: (text) => deps.out(text),
        takeOverStop: () => deps.takeOverStop(),
        promptLine: (label) => deps.promptLine(label),
        openStdin: () => deps.openStdin(),
        secretValue: deps.secretValue,
      }, options.value));
  } catch (thrown) {
    outcome = err(refusalOfFault(thrown, `run "${name}"`));
  } finally {
    progress.clear();
  }
  return outcome.ok
    ? await printReport(outcome.value, invocation.json, deps)
    : await printRefusal(withHelp(outcome.error, invocation), invocation.json, deps);
}

/** Adds the verb's help as a hint to usage errors that have no better one. */
function withHelp(reason: Refusal, { verb }: Invocation): Refusal {
  if (reason.kind !== "usage" || reason.hints.length > 0) return reason;
  return { ...reason, hints: [`fleetctl ${verbName(verb)} --help`] };
}

/** Prints a refusal (text to stderr, JSON to stdout) and returns its exit code. */
export async function printRefusal(
  reason: Refusal,
  json: boolean,
  deps: Pick<CliDeps, "out" | "err" | "env">,
): Promise<number> {
  if (json) await deps.out(`${JSON.stringify(refusalJson(reason))}\n`);
  else await deps.err(`${refusalLines(withLocalHints(reason, deps.env)).join("\n")}\n`);
  return exitCode(reason);
}

async function runInvocation(invocation: Invocation, deps: CliDeps): Promise<number> {
  const ports = await deps.openPorts();
  const paths = pathsUnder(rootOf(invocation, deps));
  const uid = ports.users.currentUid();
  // A user without rights over this root leaves every decision to the daemon.
  const isPlainUser = uid !== 0 && paths.root === "/";
  const context: CallContext = { ports, paths, uid };
  if (isPlainUser && await mustForward(invocation, context)) {
    const confirmed = await confirm(invocation, deps);
    if (!confirmed.ok) return await printRefusal(confirmed.error, invocation.json, deps);
    const stream = await connectDaemon(ports.sockets, paths.daemonSocket);
    // Only root can read the ledger, so nothing can be decided without the daemon.
    return stream === undefined
      ? await printRefusal(noDaemon(invocation, paths), invocation.json, deps)
      : await forwardVerb(stream, confirmed.value, { ...deps, files: ports.files });
  }
  const authorized = await authorizeCall(invocation, context);
  if (!authorized.ok) {
    return await printRefusal(withHelp(authorized.error, invocation), invocation.json, deps);
  }
  const { addressed, caller, decision } = authorized.value;
  const isForRoot = needsRoot(invocation.verb, caller, addressed.target);
  if (isForRoot && isPlainUser) {
    return await printRefusal(noDaemon(invocation, paths), invocation.json, deps);
  }
  if (decision.allowed !== true) {
    const denied = isForRoot ? await recordDirectly(authorized.value, context) : undefined;
    if (denied?.ok) denied.value.end();
    return await printRefusal(decision.refusal, invocation.json, deps);
  }
  // Confirm only after authorization: a denied caller gets no prompt.
  const confirmed = await confirm(invocation, deps);
  if (!confirmed.ok) return await printRefusal(confirmed.error, invocation.json, deps);
  // On a full disk no decision can be recorded, and unrecorded verbs do not run.
  if (verbName(invocation.verb) === "gc" && !invocation.switches.has("dry-run")) {
    await giveUpReserve(ports, paths);
  }
  // An operator's reads do not use the daemon, so that `status` works when the daemon does not.
  if (isForRoot && invocation.verb.mutates && invocation.verb.follows !== true) {
    const stream = await connectDaemon(ports.sockets, paths.daemonSocket);
    if (stream !== undefined) {
      return await forwardVerb(stream, confirmed.value, { ...deps, files: ports.files });
    }
  }
  const secretValue = await readSecretValue(invocation, deps);
  if (!secretValue.ok) return await printRefusal(secretValue.error, invocation.json, deps);
  const recorded = isForRoot ? await recordDirectly(authorized.value, context) : undefined;
  if (recorded?.ok === false) {
    if (invocation.verb.mutates) return await printRefusal(recorded.error, invocation.json, deps);
    // Reading must work even on a host where recording fails.
    await deps.err(`${refusalLines(recorded.error, "warning").join("\n")}\n`);
  }
  const at = { caller, paths, ports };
  const { switches } = confirmed.value;
  const request = { ...addressed, invocation: { ...addressed.invocation, switches } };
  const input = await openInput(invocation, { ...deps, files: ports.files });
  if (!input.ok) return await printRefusal(input.error, invocation.json, deps);
  const openStdin = () => input.value ?? deps.openStdin();
  const code = await runVerb(request, at, { ...deps, openStdin, secretValue: secretValue.value });
  if (recorded?.ok) recorded.value.end(String(code));
  return code;
}

interface CallContext {
  readonly ports: VerbPorts;
  readonly paths: Paths;
  readonly uid: number;
}

/** Determines the caller and the target, and whether the verb is allowed. */
async function authorizeCall(
  invocation: Invocation,
  { ports, paths, uid }: CallContext,
): Promise<Result<Authorized>> {
  const { verb, as } = invocation;
  const isOpen = verb.scope === "anyone" && as === undefined;
  const caller = isOpen
    ? ok(callerFor({ uid, root: paths.root, rootOwner: undefined, agent: undefined }))
    : verb.runs === "root_for_peer" && uid !== 0 && paths.root === "/"
    ? await ownAgent(ports, uid)
    : await whoIs(ports, paths, { uid, as });
  if (!caller.ok) return caller;
  const addressed = addressFor(invocation, caller.value);
  if (!addressed.ok) return addressed;
  return ok({
    addressed: addressed.value,
    caller: caller.value,
    decision: authorize(caller.value, addressed.value),
  });
}

/**
 * Returns the caller of a verb that an agent runs for itself with its own rights. Only root can
 * read the ledger, so the user's name identifies the agent. This grants nothing that the user could
 * not do anyway.
 */
async function ownAgent(ports: VerbPorts, uid: number): Promise<Result<Caller>> {
  const user = await ports.users.byUid(uid);
  const agent = user === undefined ? undefined : parseAgentName(user.name);
  return ok(agent?.ok ? { kind: "agent", uid, agent: agent.value } : { kind: "other", uid });
}

/** Whether an ordinary user's verb targets more than that user's own agent. */
async function mustForward(invocation: Invocation, { ports, uid }: CallContext): Promise<boolean> {
  const { verb, as } = invocation;
  if (verb.runs !== "root_for_peer") return verb.runs === "root";
  const typed = invocation.args[verb.target?.name ?? ""];
  const own = (await ports.users.byUid(uid))?.name;
  const isOwn = typed === undefined || typed === "self" || typed === own;
  return !isOwn || (as !== undefined && as !== own);
}

async function forwardVerb(
  stream: ByteStream,
  invocation: Invocation,
  deps: CliDeps & { readonly files: Files },
): Promise<number> {
  const refuse = async (why: Refusal) => {
    stream.close();
    return await printRefusal(why, invocation.json, deps);
  };
  const secretValue = await readSecretValue(invocation, deps);
  if (!secretValue.ok) return await refuse(secretValue.error);
  const input = await openInput(invocation, deps);
  if (!input.ok) return await refuse(input.error);
  const tree = deps.env.FLEETCTL_FROM_TREE;
  const code = await forward(
    stream,
    {
      argv: printInvocation(invocation),
      ...defined({ as: invocation.as }),
      tty: { ...deps.terminal, ...defined({ tree }) },
      ...defined({ stdin: secretValue.value }),
    },
    deps,
    input.value,
  );
  return code.ok ? code.value : await printRefusal(code.error, invocation.json, deps);
}

function noDaemon(invocation: Invocation, paths: Paths): Refusal {
  return refusal(
    "daemon-not-running",
    `Cannot run "${verbName(invocation.verb)}": no daemon answers on "${paths.daemonSocket}", ` +
      `the daemon must be running or the caller root`,
    // A daemon whose socket file is gone is still active, so `start` would change nothing.
    { hints: ["systemctl restart fleetctl-daemon.service"] },
  );
}

/**
 * Returns the root folder from the environment, else from the option of `up`, else `/`.
 * `units/prepare/under_root.sh` sets the variable to the resolved value of `--root`.
 */
function rootOf(invocation: Invocation, deps: Pick<CliDeps, "env" | "cwd">): string {
  const isUp = verbName(invocation.verb) === "up";
  const named = deps.env.FLEETCTL_ROOT || (isUp ? invocation.options.root : undefined);
  const root = named === undefined || named === "" ? (isUp ? ".fleetctl" : "/") : named;
  return root.startsWith("/") ? root : `${deps.cwd.replace(/\/$/, "")}/${root}`;
}

async function printReport(
  report: VerbReport,
  json: boolean,
  deps: Pick<CliDeps, "out" | "err" | "env" | "terminal">,
): Promise<number> {
  const { warnings = [], faults = [] } = report;
  if (json) await deps.out(`${JSON.stringify(report.json)}\n`);
  else {
    const blocks = withCommands(report.blocks, (line) => withLocalCommand(line, deps.env));
    await deps.out(printBlocks(blocks, deps.terminal));
  }
  if (!json) {
    const local = (reason: Refusal) => withLocalHints(reason, deps.env);
    const lines = [
      ...warnings.flatMap((reason) => refusalLines(local(reason), "warning")),
      ...faults.flatMap((reason) => refusalLines(local(reason))),
    ];
    if (lines.length > 0) await deps.err(`${lines.join("\n")}\n`);
  }
  if (report.exit !== undefined) return report.exit;
  const [first] = faults;
  return first === undefined ? 0 : exitCode(first);
}
