/**
 * Accounts and groups of the machine, read from `/etc/passwd` and `/etc/group`. Never caches, so
 * that the next call sees an account that a verb has created. Queries `getent`, where permitted,
 * for accounts that only a directory service knows.
 *
 * @module
 */

import type { Processes } from "core/ports/processes.ts";
import type { User, Users } from "core/ports/users.ts";

type Database = "passwd" | "group";

/** Fields of both files, counted from 0. */
const NAME_FIELD = 0;
const ID_FIELD = 2;
const GETENT = "/usr/bin/getent";
const GETENT_MS_MAX = 5_000;

/** Returns the machine's accounts. */
export function systemUsers(processes: Processes): Users {
  /** Returns the fields of the first matching line in the file, or in the output of `getent`. */
  const find = async (database: Database, field: number, value: string) => {
    const fields = findLine(await readFile(`/etc/${database}`), field, value);
    // Check the output, because getent also accepts a number as a name.
    return fields ?? findLine(await askGetent(processes, database, value), field, value);
  };
  return {
    currentUid: effectiveUid,
    byName: async (name) => parseUser(await find("passwd", NAME_FIELD, name)),
    byUid: async (uid) => parseUser(await find("passwd", ID_FIELD, String(uid))),
    groupId: async (name) => parseId((await find("group", NAME_FIELD, name))?.[ID_FIELD]),
  };
}

/** No fleetctl program is set-uid, so the real uid is the effective one. */
function effectiveUid(): number {
  const uid = Deno.uid();
  if (uid === null) throw new Error("Cannot read the uid of this process: not on this system");
  return uid;
}

async function readFile(file: string): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return "";
    throw thrown;
  }
}

function findLine(
  text: string,
  field: number,
  value: string,
): readonly string[] | undefined {
  if (/[:\n]/.test(value)) return undefined;
  if (field === NAME_FIELD) {
    // Callers query each agent of the fleet, and the file has a line for each. So split only the
    // line that matches.
    const at = `\n${text}`.indexOf(`\n${value}:`);
    return at === -1 ? undefined : text.slice(at).split("\n", 1)[0]?.split(":");
  }
  for (const line of text.split("\n")) {
    const fields = line.split(":");
    if (fields[field] === value) return fields;
  }
  return undefined;
}

/** Queries the name service switch; returns "" where `getent` is missing or not permitted. */
async function askGetent(
  processes: Processes,
  database: Database,
  key: string,
): Promise<string> {
  // `getent` parses a leading dash as an option, and no account has such a name.
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.$-]*$/.test(key) || !mayRun(GETENT)) return "";
  try {
    const answer = await processes.run({
      command: GETENT,
      args: [database, key],
      env: { PATH: "/usr/bin:/bin" },
      timeoutMs: GETENT_MS_MAX,
    });
    return answer.code === 0 ? answer.stdout : "";
  } catch {
    // A minimal image has no getent; then only the files count.
    return "";
  }
}

function mayRun(command: string): boolean {
  return Deno.permissions.querySync({ name: "run", command }).state === "granted";
}

function parseUser(fields: readonly string[] | undefined): User | undefined {
  const [name, , uidText, gidText, , home] = fields ?? [];
  const uid = parseId(uidText);
  const gid = parseId(gidText);
  if (name === undefined || home === undefined || uid === undefined || gid === undefined) {
    return undefined;
  }
  return { name, uid, gid, home };
}

function parseId(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
