/**
 * Reads files in an agent's home. The agent may replace any file or folder there by a link or a
 * pipe. Therefore root under `/` uses a helper with the agent's rights that follows no link
 * (docs/adr/0018-one-helper-for-homes.md). In every other case this process has no more rights than
 * the home's owner, and reads only files of that owner.
 *
 * The text is untrusted: the caller decides what to believe.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Users } from "core/ports/users.ts";
import type { Homes } from "units/reconcile/home_files.ts";
import { type HomePorts, openHomeHelper } from "units/reconcile/home_helper.ts";

/** Dependencies of reading; a verb context provides them. */
export interface HomeReader {
  readonly ports: HomePorts & {
    readonly files: Pick<Files, "stat" | "readPlain">;
    readonly users: Pick<Users, "byName" | "currentUid">;
  };
  readonly paths: Paths;
}

/** A file in an agent's home, and how many bytes of it to read. */
export interface HomeText {
  readonly agent: AgentName;
  readonly path: string;
  readonly bytesMax: number;
}

/** Time limit for one home while a person waits. */
const HOME_MS_MAX = 1_000;

/** Returns the text of the agent's regular file, up to `bytesMax`; undefined for anything else. */
export async function readHomeText(
  reader: HomeReader,
  agent: AgentName,
  of: Omit<HomeText, "agent">,
): Promise<string | undefined> {
  const [text] = await readHomeTexts(reader, [{ agent, ...of }]);
  return text;
}

/** Returns the texts of several files of several agents, in the same order. */
export async function readHomeTexts(
  reader: HomeReader,
  wanted: readonly HomeText[],
): Promise<readonly (string | undefined)[]> {
  const { ports, paths } = reader;
  const isAnyone = ports.users.currentUid() === 0 && paths.root === "/";
  if (!isAnyone) return await Promise.all(wanted.map((of) => readOwn(reader, of)));
  const homes = openHomeHelper(ports, HOME_MS_MAX);
  try {
    return await Promise.all(wanted.map((of) => readAsAgent(reader, homes, of)));
  } finally {
    await homes.close();
  }
}

async function readAsAgent(
  { ports, paths }: HomeReader,
  homes: Homes,
  { agent, path, bytesMax }: HomeText,
): Promise<string | undefined> {
  const user = await ports.users.byName(agent);
  if (user === undefined || user.uid === 0) return undefined;
  try {
    const file = await homes.of(user, paths.home(agent)).read(path);
    return file === undefined || byteLength(file.text) > bytesMax ? undefined : file.text;
  } catch {
    // A file that is not regular, and a home that is too slow, yield no text.
    return undefined;
  }
}

async function readOwn(
  { ports, paths }: HomeReader,
  { agent, path, bytesMax }: HomeText,
): Promise<string | undefined> {
  try {
    const home = await ports.files.stat(paths.home(agent));
    return home?.kind === "directory"
      ? await ports.files.readPlain(path, { bytesMax, uid: home.uid })
      : undefined;
  } catch {
    // A folder that cannot be read yields no text.
    return undefined;
  }
}
