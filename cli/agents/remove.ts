/**
 * `fleetctl agents remove <agent>`: takes an agent away. What was begun is noted in a file first, so
 * that a verb that was cut short at any step is finished by running it again.
 *
 * note it · ledger record (from here on nobody is this agent) · secrets · units and rendered files,
 * by the planner · home and Unix user · forget the note
 *
 * @module
 */

import { archiveHome } from "cli/agents/archive_home.ts";
import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, planReport, readFacts, reconcileFacts, underVerbLock } from "cli/planner.ts";
import { closeUnixUser, deleteUnixUser, unixUserOf } from "cli/unix_user.ts";
import { refusal } from "core/errors.ts";
import { removeAgent } from "core/ledger/agents.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { changeStore } from "core/secrets/store.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** What `fleetctl agents remove` was asked for. */
export interface Options {
  readonly home: "keep" | "archive";
  readonly secrets: "remove" | "keep";
}

const VERB = "agents remove";

/** Parses the options; without `--yes` nothing is removed, whoever asks in whatever way. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { options, switches } = invocation;
  if (!switches.has("yes")) {
    return err(refusal("not-confirmed", `Cannot run "${VERB}": must be told --yes`, {
      kind: "usage",
      hints: ["fleetctl agents remove --help"],
    }));
  }
  return ok({
    home: options.home === "archive" ? "archive" : "keep",
    secrets: options.secrets === "keep" ? "keep" : "remove",
  });
}

/** Removes the agent, or goes on with a removal that was begun. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, target } = context;
  if (target.kind !== "agent") throw new Error("this verb needs an agent as its target");
  const { agent } = target;
  return await underVerbLock(context, async () => {
    const begun = await readNote(context, agent);
    const isInLedger = await ports.files.stat(paths.agentShard(agent)) !== undefined;
    if (isInLedger || begun === undefined) {
      const here = await agentHere(context);
      if (!here.ok) return here;
    }
    const chosen = begun ?? options;
    const user = await unixUserOf(context, agent);
    if (!user.ok) return user;
    const readable = await readFacts(context);
    if (!readable.ok) return readable;
    await writeNote(context, agent, chosen);
    const forgotten = await forget(context, agent, { isInLedger, chosen });
    if (!forgotten.ok) return forgotten;
    const gathered = await readFacts(context);
    if (!gathered.ok) return gathered;
    const report = await reconcileFacts(context, gathered.value, {
      dryRun: false,
      restartAgents: false,
    });
    if (!report.ok) return report;
    const isDown = await checkDown(context, agent);
    if (!isDown.ok) return isDown;
    const home = await leaveHome(context, agent, chosen);
    if (!home.ok) return home;
    await ports.files.remove(paths.removal(agent));
    return ok(planReport(report.value, gathered.value, {
      json: { agent, removed: true, ...chosen, archive: home.value.archive ?? null },
      last: [`agent "${agent}" is removed; ${home.value.text}; ${secretsText(chosen)}`],
    }));
  });
}

function secretsText({ secrets }: Options): string {
  return secrets === "remove"
    ? "its secrets are removed"
    : "its secrets stay for the next agent of this name";
}

/** Takes record and secrets out of the ledger, one commit each. */
async function forget(
  context: VerbContext,
  agent: AgentName,
  of: { readonly isInLedger: boolean; readonly chosen: Options },
): Promise<Result<void>> {
  const { ports, paths } = context;
  const author = authorOf(context, VERB);
  if (of.isInLedger) {
    const removed = await removeAgent(ports, paths, { ...author, agent });
    if (!removed.ok) return removed;
  }
  if (of.chosen.secrets === "keep") return ok(undefined);
  const secrets = await changeStore(ports, paths, {
    author,
    summary: `the secrets of agent "${agent}"`,
    change: ({ shards, recipients }) => {
      if (!shards.agents.has(agent)) return ok(undefined);
      const agents = new Map([...shards.agents].filter(([name]) => name !== agent));
      return ok({ shards: { ...shards, agents }, recipients });
    },
  });
  return secrets.ok ? ok(undefined) : secrets;
}

/** A home is left to nobody while something of the agent still runs. */
async function checkDown(context: VerbContext, agent: AgentName): Promise<Result<void>> {
  const services = context.ports.services(context.paths);
  if (!await services.isRunning()) return ok(undefined);
  const [unit] = await services.status([dialUnit(agent)]);
  if (unit === undefined || unit.active === "inactive" || unit.active === "failed") {
    return ok(undefined);
  }
  return err(refusal(
    "agent-still-running",
    `Cannot finish the removal of agent "${agent}": its unit is ${unit.active}, must be stopped`,
    { hints: [`systemctl stop ${dialUnit(agent)}`, `fleetctl agents remove ${agent} --yes`] },
  ));
}

async function leaveHome(
  context: VerbContext,
  agent: AgentName,
  { home }: Options,
): Promise<Result<{ readonly text: string; readonly archive?: string }>> {
  const user = await unixUserOf(context, agent);
  if (!user.ok) return user;
  if (home === "keep") {
    const closed = user.value === undefined
      ? ok(undefined)
      : await closeUnixUser(context, user.value);
    return closed.ok
      ? ok({ text: `its home "${context.paths.home(agent)}" stays, the account is closed` })
      : closed;
  }
  if (user.value !== undefined && user.value.home !== context.paths.home(agent)) {
    return err(refusal(
      "home-elsewhere",
      `Cannot archive the home of agent "${agent}": it is "${user.value.home}", must be ` +
        `"${context.paths.home(agent)}"`,
      { hints: [`usermod --home ${context.paths.home(agent)} ${agent}`] },
    ));
  }
  const archive = await archiveHome(context, agent);
  if (!archive.ok) return archive;
  const deleted = user.value === undefined
    ? await removeFolder(context, agent)
    : await deleteUnixUser(context, user.value);
  if (!deleted.ok) return deleted;
  return archive.value === undefined
    ? ok({ text: "it had no home" })
    : ok({ text: `its home is in "${archive.value}"`, archive: archive.value });
}

async function removeFolder(context: VerbContext, agent: AgentName): Promise<Result<void>> {
  if (context.paths.root === "/") return ok(undefined);
  await context.ports.files.remove(context.paths.home(agent), { recursive: true });
  return ok(undefined);
}

/** What was chosen when the removal was begun; undefined when none was. */
async function readNote(
  { ports, paths }: VerbContext,
  agent: AgentName,
): Promise<Options | undefined> {
  const text = await ports.files.readText(paths.removal(agent));
  if (text === undefined) return undefined;
  const { home, secrets } = JSON.parse(text) as Partial<Options>;
  return {
    home: home === "archive" ? "archive" : "keep",
    secrets: secrets === "keep" ? "keep" : "remove",
  };
}

async function writeNote(
  { ports, paths }: VerbContext,
  agent: AgentName,
  chosen: Options,
): Promise<void> {
  const path = paths.removal(agent);
  await ports.files.ensureDir(path.slice(0, path.lastIndexOf("/")), { mode: 0o700 });
  await ports.files.write(path, `${JSON.stringify(chosen)}\n`, { mode: 0o600 });
}
