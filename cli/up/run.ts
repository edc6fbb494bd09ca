/**
 * The sequence of `fleetctl up`: root → ports → manager → reconcile → agents connected → ready,
 * then one turn, or a wait until it is stopped. Each step is a function that this file calls in
 * order.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusalLines } from "cli/exit.ts";
import { withLocalHints } from "core/hints/local_hints.ts";
import { gatherFacts } from "cli/facts.ts";
import { writeRegistryEnv } from "core/catalog/registry_env.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { uniqueFaults } from "cli/planner.ts";
import { reconcilePorts } from "cli/reconcile_ports.ts";
import { attachCockpit } from "cli/up/attach.ts";
import { waitForAgents } from "cli/up/connected.ts";
import { ensureRoot, OWNER_EMAIL, prepareRoot, writeRoles } from "cli/up/first_run.ts";
import { ensureLoginAccount, loginLine } from "cli/up/login_account.ts";
import { absolutePath, checkRoot, checkWorkdir, type UpOptions } from "cli/up/options.ts";
import {
  managerLine,
  nextSteps,
  partLine,
  partName,
  relaxedLines,
  stepLine,
  workspaceLine,
} from "cli/up/lines.ts";
import { offerModel } from "cli/up/model_offer.ts";
import { findPorts } from "cli/up/ports.ts";
import { runTurn } from "cli/up/turn.ts";
import type { EmbeddedManager } from "units/manager/embedded.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import { findAgent, type Ledger, readLedger } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";
import { LOGIN_UNIT } from "units/render/unit_name.ts";
import { reconcile, type StepProgress } from "units/reconcile/run.ts";

/** Runs `up` until it is stopped or its turn is over. */
export async function runUp(
  context: VerbContext,
  options: UpOptions,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const root = checkRoot(paths.root);
  if (!root.ok) return root;
  const stop = context.takeOverStop();
  const usable = await ensureRoot(ports, paths);
  if (!usable.ok) return usable;
  if (options.turn !== undefined) {
    // A manager that hangs does not answer; then only Ctrl-C ends the wait.
    const isRunning = await unlessStopped(ports.services(paths).isRunning(), stop);
    if (isRunning === "stopped") return err(turnNotSent());
    if (isRunning) return await turnOnly(context, options, { text: options.turn, stop });
  }
  const started = ports.clock.monotonic();
  const say = (line: string) => void context.write(`${line}\n`);
  const manager = await ports.startManager(paths, (event) => {
    const line = managerLine(event);
    if (line !== undefined) say(line);
  });
  if (!manager.ok) return manager;
  try {
    const ready = await unlessStopped(
      bringUp(context, options, { say, manager: manager.value }),
      stop,
    );
    if (ready === "stopped") return options.turn === undefined ? stopped(say) : err(turnNotSent());
    if (!ready.ok) return ready;
    const seconds = ((ports.clock.monotonic() - started) / 1000).toFixed(1);
    say(`ready in ${seconds} s; Ctrl-C stops everything`);
    if (options.turn === undefined || options.modelFrom !== undefined) {
      const offered = await unlessStopped(offerModel(context, options, say), stop);
      if (offered === "stopped") return stopped(say);
      if (!offered.ok) return offered;
    }
    if (options.turn !== undefined) {
      return await turnOnly(context, options, { text: options.turn, stop });
    }
    for (const line of nextSteps(context, projectOf(context, options))) say(line);
    await aborted(stop);
    return stopped(say);
  } finally {
    await manager.value.close();
  }
}

function stopped(say: (line: string) => void): Result<VerbReport> {
  say("stopping");
  return ok(linesReport({ stopped: true }, []));
}

function turnNotSent(): Refusal {
  return refusal("turn-not-sent", "Cannot send the turn: up was stopped before it was ready");
}

interface Running {
  readonly say: (line: string) => void;
  readonly manager: EmbeddedManager;
}

/** Runs the steps from a running manager to connected agents. */
async function bringUp(
  context: VerbContext,
  options: UpOptions,
  { say, manager }: Running,
): Promise<Result<void>> {
  const { ports, paths } = context;
  for (const { unit, pid } of manager.leftovers) {
    say(partLine(partName(unit), `left from an earlier run, ended (pid ${pid})`));
  }
  const workdir = options.workdir === undefined
    ? undefined
    : absolutePath(options.workdir, context.cwd);
  const checked = await checkWorkdir(ports.files, workdir);
  if (!checked.ok) return checked;
  const isTeamchatHere = options.isTeamchatHere || await hasTeamchat(context);
  const found = await findPorts(ports.sockets, { ...options, isTeamchatHere });
  if (!found.ok) return found;
  const prepared = await prepareRoot(ports, paths, ports.hostname);
  if (!prepared.ok) return prepared;
  const roles = await writeRoles(ports, paths, {
    options: { ...options, workdir },
    ports: found.value,
    project: projectOf(context, options),
  });
  if (!roles.ok) return roles;
  const account = await ensureLoginAccount(ports, paths, OWNER_EMAIL);
  if (!account.ok) return account;
  await writeRegistryEnv(ports.files, paths, context.env);
  say(`fleetctl ${context.version} under ${paths.root}${prepared.value.isNew ? " (new)" : ""}`);
  say(workspaceLine(roles.value));
  const inputs = { paths, hostname: ports.hostname, uid: ports.users.currentUid() };
  const gathered = await gatherFacts(ports, inputs);
  if (!gathered.ok) return gathered;
  await sayFaults(context, gathered.value.faults);
  const report = await reconcile(
    gathered.value.facts,
    reconcilePorts(context, manager),
    {
      restartAgents: true,
      onStep: stepReporter(context, say),
    },
  );
  if (!report.ok) return report;
  // Faults printed before the reconcile are not printed again.
  const known = uniqueFaults(gathered.value.faults);
  await sayFaults(context, uniqueFaults([...known, ...report.value.faults]).slice(known.length));
  for (const line of relaxedLines(manager.relaxedKeys())) say(line);
  const connected = await agentsConnected(context, gathered.value.ledger, say);
  if (connected.ok && options.turn === undefined) {
    const { listen } = options;
    const [login] = await manager.status([LOGIN_UNIT]);
    // Without a running login, which was reported above, there is no page to open.
    if (login?.active === "active") {
      say(loginLine(account.value, { listen, port: found.value.login }));
    }
    const { teamchat } = found.value;
    if (teamchat !== undefined) {
      say(`team chat, local mode: http://127.0.0.1:${teamchat}/api/messages`);
    }
  }
  return connected;
}

/** Returns the folder of the local person's project. */
function projectOf({ env, cwd }: VerbContext, { workdir }: UpOptions): string {
  return workdir === undefined ? env.FLEETCTL_FROM_TREE ?? cwd : absolutePath(workdir, cwd);
}

/** Whether an earlier start of this root, or a verb, enabled team chat. */
async function hasTeamchat({ ports, paths }: VerbContext): Promise<boolean> {
  const roles = parseHostRoles(await ports.files.readText(paths.rolesFile), paths.rolesFile);
  return roles.ok && roles.value.teamchat !== undefined;
}

/** Prints steps that took noticeable time. A tree that already exists takes none. */
function stepReporter(
  { ports }: Pick<VerbContext, "ports">,
  say: (line: string) => void,
): (step: StepProgress) => void {
  const begun = new Map<string, number>();
  return (step) => {
    const now = ports.clock.monotonic();
    if (step.state === "begin") begun.set(step.subject, now);
    const line = stepLine(step, now - (begun.get(step.subject) ?? now));
    if (line !== undefined) say(line);
  };
}

/** Waits until each agent of this root with an owner is connected. Prints a line for each. */
async function agentsConnected(
  context: VerbContext,
  ledger: Ledger,
  say: (line: string) => void,
): Promise<Result<void>> {
  const { ports, paths } = context;
  for (const agent of ledger.agents.values()) {
    if (agent.userEmail === undefined) continue;
    const client = await attachCockpit(ports, paths, agent.userEmail);
    if (!client.ok) return client;
    const connected = await waitForAgents(client.value, agent.name);
    // One agent that fails to connect does not stop the others.
    if (!connected.ok) await sayFaults(context, [connected.error]);
    else say(partLine(`dial-${agent.name}`, "connected", connected.value));
  }
  return ok(undefined);
}

/** Sends the turn through the running gateway of this root. */
async function turnOnly(
  context: VerbContext,
  options: UpOptions,
  { text, stop }: { readonly text: string; readonly stop: AbortSignal },
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const ledger = await readLedger(ports.files, paths);
  if (!ledger.ok) return ledger;
  const agent = findAgent(ledger.value, options.agent);
  if (!agent.ok) return agent;
  const client = await attachCockpit(ports, paths, agent.value.userEmail ?? OWNER_EMAIL);
  if (!client.ok) return client;
  const turn = { agent: agent.value.name, text, idempotencyKey: ports.random.uuid() };
  const print = (line: string) => void context.write(`${line}\n`);
  const done = await runTurn(client.value, turn, { print, stop });
  if (!done.ok) return done;
  const { turnId, seconds } = done.value;
  return ok(
    linesReport({ turn_id: turnId, seconds }, [`turn completed in ${seconds.toFixed(1)} s`]),
  );
}

async function sayFaults(context: VerbContext, faults: readonly Refusal[]): Promise<void> {
  for (const fault of faults) {
    await context.write(
      `${refusalLines(withLocalHints(fault, context.env), "warning").join("\n")}\n`,
    );
  }
}

/**
 * Waits for `work` or for the stop signal, whichever comes first. After a stop, the closing manager
 * ends unfinished work and starts nothing more.
 */
async function unlessStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T | "stopped"> {
  const stopping = aborted(stop).then(() => "stopped" as const);
  // A step that fails because its services are being stopped is not a fault to report.
  work.catch(() => {});
  return await Promise.race([work, stopping]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
