/**
 * The vendor's local test client, Microsoft 365 Agents Playground. The preparation step installs it
 * once from npm (one package, no dependencies, no install scripts). Afterwards it runs offline with
 * the Node of the conformance suite. It is for tests of local mode only; the product does not
 * depend on it. The pin and its hash are in `tests/teamchat/playground/`.
 *
 * @module
 */

import { NODE } from "tests/support/conformance/suite.ts";
import { installPinned } from "tests/support/pinned_tool.ts";
import { TREE } from "tests/support/module_graph.ts";

const PINS = {
  source: `${TREE}tests/teamchat/playground`,
  installed: `${TREE}.cache/playground`,
} as const;
const PROGRAM = `${PINS.installed}/node_modules/@microsoft/m365agentsplayground/cli.js`;

/** Its configuration requires at least this many users besides the sender. */
const OTHERS = 5;

/** Installs the pinned version unless it is installed. */
export async function installPlayground(say: (line: string) => void): Promise<void> {
  await installPinned(PINS, () => say("fetching the vendor's local test client"));
}

/** A running client. */
export interface Playground extends AsyncDisposable {
  /** Address of its page. */
  readonly url: string;
}

/** The sender and the personal chat. */
export interface PlaygroundUser {
  /** Object id in the directory: the owner of an agent. */
  readonly owner: string;
  readonly chat: string;
}

/** Starts it for the application at `endpoint`; resolves once it listens. */
export async function startPlayground(
  endpoint: string,
  user: PlaygroundUser,
): Promise<Playground> {
  const home = await Deno.makeTempDir({ prefix: "ft-" });
  await Deno.writeTextFile(`${home}/.m365agentsplayground.yml`, configOf(user));
  const child = new Deno.Command(NODE, {
    args: [PROGRAM, "start", "-e", endpoint, "-c", "msteams", "--disable-telemetry"],
    cwd: home,
    clearEnv: true,
    // It must not open a browser of the person who runs the tests.
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: home, TEAMSAPPTESTER_BROWSER: "none" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const ready = Promise.withResolvers<string>();
  ready.promise.catch(() => {});
  const reading = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const port = /Listening on (\d+)/.exec(text)?.[1];
      if (port !== undefined) ready.resolve(`http://127.0.0.1:${port}/`);
    }
    ready.reject(new Error("the test client ended"));
  })();
  const log = () => Deno.readTextFile(`${home}/devTools/m365agentsplayground.log`).catch(() => "");
  const stop = async () => {
    child.kill("SIGKILL");
    await child.status;
    await reading;
    await Deno.remove(home, { recursive: true });
  };
  try {
    return { url: await ready.promise, [Symbol.asyncDispose]: stop };
  } catch (thrown) {
    const output = await log();
    await Deno.remove(home, { recursive: true });
    throw new Error(`${thrown}: ${output}`);
  }
}

/**
 * Returns its configuration with another sender, because the default one has an invalid object id.
 */
function configOf({ owner, chat }: PlaygroundUser): string {
  const person = (id: string, name: string, aadObjectId: string) => ({
    id,
    name,
    userPrincipleName: `${id}@example.com`,
    aadObjectId,
    givenName: name,
    surname: name,
    email: `${id}@example.com`,
  });
  const others = Array.from(
    { length: OTHERS },
    (_, n) => person(`user-id-${n + 1}`, `Other ${n + 1}`, crypto.randomUUID()),
  );
  // JSON is valid YAML.
  return JSON.stringify({
    version: "0.1.1",
    tenantId: crypto.randomUUID(),
    bot: { id: crypto.randomUUID(), name: "Agent" },
    currentUser: person("user-id-0", "Owner", owner),
    users: others,
    personalChat: { id: chat },
    groupChat: { id: crypto.randomUUID(), name: "Group" },
    team: {
      id: "team-id",
      name: "Team",
      aadGroupId: crypto.randomUUID(),
      channels: [{ id: "channel-id", name: "Announcements" }],
    },
  });
}
