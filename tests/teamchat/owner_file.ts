/**
 * A gateway whose owners stand in a file, which changes while it runs.
 *
 * @module
 */

import { DIAL_LIMITS } from "core/limits/dial.ts";
import { AGENTS, CAL_OWNER, teamchatTest, type TestTeamchat } from "tests/teamchat/fixture.ts";
import { kitHost } from "tests/teamchat/kit_host.ts";

/** The file of owners. */
export const FILE = "/etc/agents.json";
/** Where the file is when its path is a link, as the platforms of containers mount one. */
const BEHIND = "/etc/mounted.json";
/** Long enough for the gateway to look at the file. */
export const LOOK_MS = DIAL_LIMITS.keyFileLookMs * 2;
/** Somebody who owns nothing at first. */
export const NEW_OWNER = "00000000-0000-4000-8000-0000000000ee";
/** The file without the owner of bea. */
export const WITHOUT_BEA = { [CAL_OWNER]: "cal" };

/** What goes into the file: owner → agent, or a text that may be no such thing. */
export type Owners = Readonly<Record<string, string>> | string;

/** A gateway, and hands on its file. */
export interface OwnedTeamchat extends TestTeamchat {
  /** Writes the file as `apply` does. */
  write(owners: Owners): Promise<void>;
  /** The same, and waits for a look. */
  own(owners: Owners): Promise<void>;
}

/** A test with such a gateway; at first the file says what the settings say. */
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
    const own = async (owners: Owners) => {
      await write(owners);
      await at.clock.advance(LOOK_MS);
    };
    await fn({ ...at, write, own });
  }, async () => {
    const machine = await kitHost();
    const { files } = machine.host;
    await files.ensureDir("/etc");
    await files.write(path, textOf(AGENTS));
    if (isLink) await files.symlink(BEHIND, FILE);
    return { machine, env, agentsFile: FILE };
  });
}
