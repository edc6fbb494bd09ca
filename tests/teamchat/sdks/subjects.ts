/**
 * The subjects of the team-chat table and of its bench: the gateway as a process, and three SDKs of
 * the vendor on Node. The preparation step or the first use installs them from npm; the product
 * never does.
 *
 * @module
 */

import { type DialKey, generateDialKey } from "core/dial/proof.ts";
import { pathsUnder } from "core/paths.ts";
import { installSuite, NODE } from "tests/support/conformance/suite.ts";
import { installPinned } from "tests/support/pinned_tool.ts";
import { TREE } from "tests/support/module_graph.ts";
import { freePort } from "tests/support/free_port.ts";
import type { World } from "tests/teamchat/sdks/world.ts";
import { APP_ID, TENANT } from "tests/teamchat/connector/keys.ts";
import { BEA_OWNER } from "tests/teamchat/fixture.ts";

/** A running subject. */
export interface Subject {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The SDKs, by their names in the table. */
export const SDKS = {
  "agents-hosting 1.8.1": "agents_hosting.cjs",
  "botbuilder 4.23.3": "botbuilder.cjs",
  "teams.apps 2.1.0": "teams_apps.cjs",
} as const;

const FOLDER = `${TREE}.cache/teamchat-sdks`;

/** Installs the SDKs and their Node once; the pins are in `programs/pins/`. */
export async function installSdks(say: (line: string) => void = () => {}): Promise<void> {
  await installSuite(say);
  const pins = { source: `${TREE}tests/teamchat/sdks/programs/pins`, installed: FOLDER };
  await installPinned(pins, () => say("fetching three SDKs of the chat platform's vendor"));
}

/**
 * Starts an SDK as a bot that echoes, or that accepts messages without a reply; on Node 22 by
 * default.
 */
export async function startSdk(
  name: keyof typeof SDKS,
  world: World,
  { isEcho, node = NODE }: { readonly isEcho: boolean; readonly node?: string },
): Promise<Subject> {
  const port = freePort();
  const scripts = `${TREE}tests/teamchat/sdks/programs`;
  // Copied beside its packages, because Node resolves them from the script's folder.
  await Deno.copyFile(`${scripts}/${SDKS[name]}`, `${FOLDER}/${SDKS[name]}`);
  return await start(name, {
    command: node,
    args: ["--require", `${scripts}/intercept.cjs`, `${FOLDER}/${SDKS[name]}`],
    port,
    env: {
      PORT: String(port),
      NODE_ENV: "production",
      TEAMS_APP_ID: APP_ID,
      TEAMS_APP_PASSWORD: "a-secret-of-the-bench",
      TEAMS_APP_TENANT_ID: TENANT,
      FLEETCTL_WORLD: world.origin,
      FLEETCTL_ECHO: isEcho ? "1" : "0",
    },
  });
}

/** The gateway, with what its agents need. */
export interface OwnSubject extends Subject {
  readonly register: string;
  readonly keyOf: (agent: string) => DialKey | undefined;
}

/** Starts the gateway for some owners. */
export async function startOwn(
  world: World,
  owners: Readonly<Record<string, string>> = { [BEA_OWNER]: "bea" },
  options: { readonly entry?: string; readonly name?: string } = {},
): Promise<OwnSubject> {
  const root = await Deno.makeTempDir({ prefix: "ft-" });
  const { etc, dialKeys } = pathsUnder(root);
  await Deno.mkdir(etc, { recursive: true });
  // One key for all agents: generating thousands is not part of the measurement.
  const { key } = await generateDialKey();
  const listed = Object.values(owners).map((agent) => [agent, [key.publicKey]]);
  await Deno.writeTextFile(dialKeys, JSON.stringify(Object.fromEntries(listed)));
  await Deno.writeTextFile(`${root}/cloud.yaml`, world.cloudFile);
  await Deno.writeTextFile(`${root}/agents.json`, JSON.stringify(owners));
  const [port, registerPort] = [freePort(), freePort()];
  const subject = await start(options.name ?? "fleetctl-teamchat", {
    command: Deno.execPath(),
    args: [
      "run",
      "-q",
      "-A",
      "--no-check",
      "--config",
      `${TREE}deno.json`,
      `${TREE}${options.entry ?? "teamchat/main.ts"}`,
    ],
    port,
    env: {
      FLEETCTL_ROOT: root,
      TEAMS_APP_ID: APP_ID,
      TEAMS_APP_PASSWORD: "a-secret-of-the-bench",
      TEAMS_APP_TENANT_ID: TENANT,
      TEAMS_AGENTS: `${root}/agents.json`,
      TEAMS_CLOUD: `${root}/cloud.yaml`,
      // The bench's connector has no limit, and the limit is not part of the measurement.
      TEAMS_SENDS_PER_SECOND: "10000",
      TEAMS_LISTEN: `127.0.0.1:${port}`,
      TEAMS_REGISTER_LISTEN: `127.0.0.1:${registerPort}`,
    },
  });
  if (options.entry === undefined) await listening(registerPort, "the listener of agents");
  return {
    ...subject,
    register: `127.0.0.1:${registerPort}`,
    keyOf: (agent) => Object.values(owners).includes(agent) ? key : undefined,
    stop: async () => {
      await subject.stop();
      await Deno.remove(root, { recursive: true });
    },
  };
}

async function start(
  name: string,
  of: {
    readonly command: string;
    readonly args: readonly string[];
    readonly port: number;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<Subject> {
  const child = new Deno.Command(of.command, {
    args: [...of.args],
    env: of.env,
    stdin: "null",
    stdout: "null",
    stderr: Deno.env.get("FLEETCTL_BENCH_LOG") === "1" ? "inherit" : "null",
  }).spawn();
  const stop = async () => {
    child.kill("SIGKILL");
    await child.status;
  };
  try {
    await listening(of.port, name);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return { name, port: of.port, pid: child.pid, stop };
}

async function listening(port: number, what: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    try {
      return (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`${what} does not listen`);
}
