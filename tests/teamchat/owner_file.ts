/**
 * A gateway whose owners are in a file, which changes while it runs.
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";
import { AGENTS, CAL_OWNER, teamchatTest, type TestTeamchat } from "tests/teamchat/fixture.ts";
import { kitHost } from "tests/teamchat/kit_host.ts";

/** The file of owners. */
export const FILE = "/etc/agents.json";
/** The target when the file's path is a link, as container platforms mount one. */
const BEHIND = "/etc/mounted.json";
/** Long enough for the gateway to check the file. */
export const LOOK_MS = DIAL_LIMITS.keyFilePollMs * 2;
/** A person who owns no agent at first. */
export const NEW_OWNER = "00000000-0000-4000-8000-0000000000ee";
/** The file without bea's owner. */
export const WITHOUT_BEA = { [CAL_OWNER]: "cal" };

/** The content of the file: owner → agent, or a text that may be invalid. */
export type Owners = Readonly<Record<string, string>> | string;

/** A gateway, and functions to change its file. */
export interface OwnedTeamchat extends TestTeamchat {
  /** Writes the file as `apply` does. */
  write(owners: Owners): Promise<void>;
  /** Writes the file and waits for a check. */
  setOwners(owners: Owners): Promise<void>;
}

/** Registers a test with such a gateway; at first the file equals the settings. */
export function ownersTest(
  name: string,
  fn: (at: OwnedTeamchat) => Promise<void>,
  options: {
    readonly isLink?: boolean;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): void {
  const { isLink = false, env = {} } = options;
  const textOf = (owners: Owners) => typeof owners === "string" ? owners : JSON.stringify(owners);
  const path = isLink ? BEHIND : FILE;
  teamchatTest(name, async (at) => {
    const write = (owners: Owners) => at.host.files.write(path, textOf(owners));
    const setOwners = async (owners: Owners) => {
      await write(owners);
      await at.clock.advance(LOOK_MS);
    };
    await fn({ ...at, write, setOwners });
  }, async () => {
    const machine = await kitHost();
    const { files } = machine.host;
    await files.ensureDir("/etc");
    await files.write(path, textOf(AGENTS));
    if (isLink) await files.symlink(BEHIND, FILE);
    return { machine, env, agentsFile: FILE };
  });
}
