/**
 * `fleetctl agents remove <agent>`: removes an agent, in these steps:
 *
 * 1. write a note about the removal to a file
 * 2. remove the ledger record, after which the agent has no identity
 * 3. remove the secrets
 * 4. remove units and rendered files, through the planner
 * 5. close the account
 * 6. archive the home, and delete home and Unix user
 * 7. delete the note
 *
 * The note lets a second run of the verb finish a removal that was interrupted at any step. Step 6
 * runs only with `--home archive`. `--secrets keep` skips step 3.
 *
 * Archiving a large home takes a long time. Other verbs can run meanwhile. Only a second removal of
 * this agent is refused.
 *
 * @module
 */

import { archiveHome, checkArchive, emptyHome } from "cli/agents/archive_home.ts";
import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, followLedger, planReport, readFacts, underVerbLock } from "cli/planner.ts";
import { closeUnixUser, deleteUnixUser, unixUserOf } from "cli/unix_user.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { removeAgent } from "core/ledger/agents.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { changeStore } from "core/secrets/store.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** Options of `fleetctl agents remove`. */
export interface Options {
  /** An absent option means the choice in the note of an interrupted removal, or the default. */
  readonly home?: "keep" | "archive";
  readonly secrets?: "remove" | "keep";
}

/** The choices of a removal, and its archive if it has one. This is the content of the note. */
interface Removal extends Required<Options> {
  /** Path of the complete archive; absent until then. */
  readonly archive?: string;
}

const DEFAULT: Removal = { home: "keep", secrets: "remove" };

const VERB = "agents remove";

/** Parses the options. Without `--yes` nothing is removed, for any caller. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { options, switches } = invocation;
  if (!switches.has("yes")) {
    return err(refusal("not-confirmed", `Cannot run "${VERB}": must be confirmed with --yes`, {
      kind: "usage",
      hints: ["fleetctl agents remove --help"],
    }));
  }
  return ok(readOptions(options));
}

function readOptions(of: { readonly home?: unknown; readonly secrets?: unknown }): Options {
  const home = (["keep", "archive"] as const).find((one) => one === of.home);
  const secrets = (["remove", "keep"] as const).find((one) => one === of.secrets);
  return defined({ home, secrets });
}

/** Removes the agent, or continues an interrupted removal. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { target } = context;
  if (target.kind !== "agent") throw new Error("this verb needs an agent as its target");
  const { agent } = target;
  return await underRemovalLock(context, agent, async () => {
    const chosen = await choose(context, agent, options);
    if (!chosen.ok) return chosen;
    const removed = await underVerbLock(
      context,
      () => removeExceptHome(context, agent, chosen.value),
    );
    if (!removed.ok) return removed;
    const stored = await storeHome(context, agent, chosen.value);
    if (!stored.ok) return stored;
    return await underVerbLock(context, async () => {
      const { home, secrets, archive } = stored.value;
      const left = await leaveHome(context, agent, stored.value);
      if (!left.ok) return left;
      await context.ports.files.remove(context.paths.removal(agent));
      return ok(planReport(removed.value.report, removed.value.gathered, {
        json: { agent, removed: true, home, secrets, archive: archive ?? null },
        last: [`agent "${agent}" is removed; ${left.value}; ${secretsText(chosen.value)}`],
      }));
    });
  });
}

/**
 * Runs `work` while no other process removes this agent. The kernel frees the lock of a dead
 * process.
 */
async function underRemovalLock<T>(
  { ports, paths }: VerbContext,
  agent: AgentName,
  work: () => Promise<Result<T>>,
): Promise<Result<T>> {
  await ports.files.ensureDir(paths.locks, { mode: 0o700 });
  const lock = await ports.files.tryLock(`${paths.locks}/removal-${agent}.lock`);
  if (lock === undefined) {
    return err(refusal(
      "removal-running",
      `Cannot remove agent "${agent}": another removal of it is under way, must end first`,
      { hints: ["fleetctl agents list"] },
    ));
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** Returns the choices to carry out. Refuses here what can be refused before anything changes. */
async function choose(
  context: VerbContext,
  agent: AgentName,
  options: Options,
): Promise<Result<Removal>> {
  const begun = await readNote(context, agent);
  if (begun === undefined || await isInLedger(context, agent)) {
    const here = await agentHere(context);
    if (!here.ok) return here;
  }
  const chosen = { ...DEFAULT, ...begun, ...options };
  // Once the archive exists, the home may be half deleted, so the deletion must finish.
  if (chosen.archive !== undefined) return ok({ ...chosen, home: "archive" });
  if (chosen.home === "keep") return ok(chosen);
  const user = await unixUserOf(context, agent);
  if (!user.ok) return user;
  if (user.value !== undefined && user.value.home !== context.paths.home(agent)) {
    return err(refusal(
      "home-elsewhere",
      `Cannot archive the home of agent "${agent}": it is "${user.value.home}", must be ` +
        `"${context.paths.home(agent)}"`,
      { hints: [`usermod --home ${context.paths.home(agent)} ${agent}`] },
    ));
  }
  const fits = await checkArchive(context, agent);
  return fits.ok ? ok(chosen) : fits;
}

async function isInLedger({ ports, paths }: VerbContext, agent: AgentName): Promise<boolean> {
  return await ports.files.stat(paths.agentShard(agent)) !== undefined;
}

/**
 * Removes everything except the home. Afterwards no unit of the agent runs, and the agent has no
 * identity.
 */
async function removeExceptHome(context: VerbContext, agent: AgentName, chosen: Removal) {
  const user = await unixUserOf(context, agent);
  if (!user.ok) return user;
  const readable = await readFacts(context);
  if (!readable.ok) return readable;
  await writeNote(context, agent, chosen);
  const forgotten = await forget(context, agent, chosen);
  if (!forgotten.ok) return forgotten;
  const followed = await followLedger(context);
  if (!followed.ok) return followed;
  const isDown = await checkDown(context, agent);
  if (!isDown.ok) return isDown;
  const closed = user.value === undefined
    ? ok(undefined)
    : await closeUnixUser(context, user.value);
  return closed.ok ? ok(followed.value) : closed;
}

function secretsText({ secrets }: Removal): string {
  return secrets === "remove"
    ? "its secrets are removed"
    : "its secrets stay for the next agent of this name";
}

/** Removes record and secrets from the ledger, one commit each. */
async function forget(
  context: VerbContext,
  agent: AgentName,
  chosen: Removal,
): Promise<Result<void>> {
  const { ports, paths } = context;
  const author = authorOf(context, VERB);
  if (await isInLedger(context, agent)) {
    const removed = await removeAgent(ports, paths, { ...author, agent });
    if (!removed.ok) return removed;
  }
  if (chosen.secrets === "keep") return ok(undefined);
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

/** Refuses while the agent's unit still runs, because the home must not be in use. */
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
    {
      hints: [
        // Without systemd the planner stops units that are no longer wanted.
        context.paths.root === "/" ? `systemctl stop ${dialUnit(agent)}` : "fleetctl apply",
        `fleetctl agents remove ${agent} --yes`,
      ],
    },
  ));
}

/** If requested, archives the home, adds the archive to the note, and then empties the home. */
async function storeHome(
  context: VerbContext,
  agent: AgentName,
  chosen: Removal,
): Promise<Result<Removal>> {
  if (chosen.home === "keep") return ok(chosen);
  const archive = chosen.archive === undefined
    ? await archiveHome(context, agent)
    : ok(chosen.archive);
  if (!archive.ok) return archive;
  if (archive.value === undefined) return ok(chosen);
  const stored = { ...chosen, archive: archive.value };
  await writeNote(context, agent, stored);
  const emptied = await emptyHome(context, agent);
  return emptied.ok ? ok(stored) : emptied;
}

/** Deletes an archived home with its account. Returns what happened to the home. */
async function leaveHome(
  context: VerbContext,
  agent: AgentName,
  { home, archive }: Removal,
): Promise<Result<string>> {
  if (home === "keep") {
    return ok(`its home "${context.paths.home(agent)}" stays, and the account is closed`);
  }
  const user = await unixUserOf(context, agent);
  if (!user.ok) return user;
  const deleted = user.value === undefined
    ? await removeFolder(context, agent)
    : await deleteUnixUser(context, user.value);
  if (!deleted.ok) return deleted;
  return ok(archive === undefined ? "it had no home" : `its home is in "${archive}"`);
}

async function removeFolder(context: VerbContext, agent: AgentName): Promise<Result<void>> {
  if (context.paths.root === "/") return ok(undefined);
  await context.ports.files.remove(context.paths.home(agent), { recursive: true });
  return ok(undefined);
}

/** Returns the choices of an interrupted removal; undefined when there is none. */
async function readNote(
  { ports, paths }: VerbContext,
  agent: AgentName,
): Promise<Removal | undefined> {
  const text = await ports.files.readText(paths.removal(agent));
  if (text === undefined) return undefined;
  const note = JSON.parse(text) as Partial<Removal>;
  const { archive } = note;
  return {
    ...DEFAULT,
    ...readOptions(note),
    ...(typeof archive === "string" ? { archive } : {}),
  };
}

async function writeNote(
  { ports, paths }: VerbContext,
  agent: AgentName,
  chosen: Removal,
): Promise<void> {
  const path = paths.removal(agent);
  await ports.files.ensureDir(path.slice(0, path.lastIndexOf("/")), { mode: 0o700 });
  await ports.files.write(path, `${JSON.stringify(chosen)}\n`, { mode: 0o600 });
}
