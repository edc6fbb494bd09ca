/**
 * The Unix user of an agent. Only root on a real host creates it. Under another root agents are
 * only names in a ledger, and no account of the machine changes.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import type { User } from "core/ports/users.ts";
import { err, ok, type Result } from "core/result.ts";

/** Group of all agents of a host. */
const AGENTS_GROUP = "agents";
const PROGRAM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
/** Accounts with a lower uid belong to the system. An agent never uses one of them. */
const UID_MIN = 1000;

/** Refuses a name that is an account of the system, before anything is recorded. */
export async function checkUnixUser(context: VerbContext, agent: AgentName): Promise<Result<void>> {
  const { users } = context.ports;
  if (context.paths.root !== "/") return ok(undefined);
  const user = await users.byName(agent);
  return user !== undefined && user.uid < UID_MIN ? err(userTaken(agent, user.uid)) : ok(undefined);
}

/** Creates the group of all agents and the agent's user where they are missing. */
export async function ensureUnixUser(
  context: VerbContext,
  agent: AgentName,
): Promise<Result<void>> {
  const { users } = context.ports;
  if (context.paths.root !== "/" || users.currentUid() !== 0) return ok(undefined);
  if (await users.groupId(AGENTS_GROUP) === undefined) {
    const made = await runAsRoot(context, "groupadd", ["--system", "--", AGENTS_GROUP]);
    if (!made.ok) return made;
  }
  const user = await users.byName(agent);
  if (user === undefined) {
    return await runAsRoot(context, "useradd", [
      "--create-home",
      // Overrides this host's default: no agent may read the files of another one.
      "--key=HOME_MODE=0700",
      "--user-group",
      `--groups=${AGENTS_GROUP}`,
      "--shell=/bin/bash",
      // The name in the agent's git commits.
      `--comment=${agent}`,
      "--",
      agent,
    ]);
  }
  if (user.uid < UID_MIN) {
    return err(userTaken(agent, user.uid));
  }
  return await runAsRoot(context, "usermod", [
    "--append",
    `--groups=${AGENTS_GROUP}`,
    // An earlier removal of an agent with this name closed the account.
    "--expiredate=",
    "--",
    agent,
  ]);
}

/**
 * Closes the account of a removed agent: no login, no access to shared sockets and keys, no
 * process.
 */
export async function closeUnixUser(context: VerbContext, user: User): Promise<Result<void>> {
  const killed = await killProcesses(context, user);
  if (!killed.ok) return killed;
  const closed = await runAsRoot(context, "usermod", [
    "--expiredate=1",
    // `usermod` replaces the whole list of groups.
    "--groups=",
    "--",
    user.name,
  ]);
  return closed;
}

/** Deletes the account of a removed agent and its home. None of its processes may run. */
export async function deleteUnixUser(context: VerbContext, user: User): Promise<Result<void>> {
  const killed = await killProcesses(context, user);
  return killed.ok ? await runAsRoot(context, "userdel", ["--remove", "--", user.name]) : killed;
}

/**
 * Returns the account of an agent; undefined if there is none or this host has no accounts. Refuses
 * a system account.
 */
export async function unixUserOf(
  context: VerbContext,
  agent: AgentName,
): Promise<Result<User | undefined>> {
  const { users } = context.ports;
  if (context.paths.root !== "/" || users.currentUid() !== 0) return ok(undefined);
  const user = await users.byName(agent);
  return user !== undefined && user.uid < UID_MIN ? err(userTaken(agent, user.uid)) : ok(user);
}

/** Ends the user's processes. `pkill` exits with 1 when there are none. */
async function killProcesses(context: VerbContext, user: User): Promise<Result<void>> {
  return await runAsRoot(context, "pkill", ["-KILL", "-u", String(user.uid)], [0, 1]);
}

function userTaken(agent: AgentName, uid: number) {
  return refusal(
    "user-taken",
    `Cannot use Unix user "${agent}" for an agent: its uid is ${uid}, must be ${UID_MIN} or more`,
    { hints: ["fleetctl agents add --help"] },
  );
}

async function runAsRoot(
  context: VerbContext,
  program: string,
  args: readonly string[],
  codes: readonly number[] = [0],
): Promise<Result<void>> {
  const done = await context.ports.processes.run({
    command: program,
    args,
    env: { PATH: PROGRAM_PATH, LC_ALL: "C" },
    timeoutMs: 60_000,
  });
  if (done.code !== undefined && codes.includes(done.code)) return ok(undefined);
  const errorLines = done.stderr.trim().split("\n").slice(0, 5);
  return err(refusal(
    "user-failed",
    `Cannot change the Unix user: "${program}" ended with ${done.code ?? done.signal}`,
    { details: errorLines },
  ));
}
