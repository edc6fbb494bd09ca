/**
 * The team-chat gateway as a process of its own, for tests that put something before it or kill it.
 *
 * @module
 */

import { generateDialKey } from "core/dial/proof.ts";
import { pathsUnder } from "core/paths.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import { connectBare } from "tests/support/gateway_fixture.ts";
import { APP_ID, APP_SECRET, type ConnectorKit, TENANT } from "tests/teamchat/connector/kit.ts";
import { agentOf, BEA_OWNER, type TestAgent } from "tests/teamchat/fixture.ts";

/** Where programs of one test run: a root with a cloud and bea's key. */
export interface TeamchatRoot {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  /** Registers bea at an address. */
  register(gateway: string, openTurns?: readonly string[]): Promise<TestAgent>;
}

/** A running program. */
export interface TeamchatProcess {
  readonly pid: number;
  /** The fields of the line in which it said that it is ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  log(): string;
  kill(signal?: Deno.Signal): Promise<void>;
}

/** Makes a root for gateways that speak to `kit`. */
export async function makeTeamchatRoot(kit: ConnectorKit): Promise<TeamchatRoot> {
  const root = await Deno.makeTempDir({ prefix: "ft-" });
  const { key } = await generateDialKey();
  const { dialKeys, etc } = pathsUnder(root);
  await Deno.mkdir(etc, { recursive: true });
  await Deno.writeTextFile(dialKeys, JSON.stringify({ bea: [key.publicKey] }));
  const cloud = `${root}/cloud.yaml`;
  await Deno.writeTextFile(cloud, kit.cloudFile);
  return {
    root,
    env: {
      FLEETCTL_ROOT: root,
      TEAMS_APP_ID: APP_ID,
      TEAMS_APP_PASSWORD: APP_SECRET,
      TEAMS_APP_TENANT_ID: TENANT,
      TEAMS_AGENTS: JSON.stringify({ [BEA_OWNER]: "bea" }),
      TEAMS_CLOUD: cloud,
      TEAMS_LISTEN: "127.0.0.1:0",
      TEAMS_REGISTER_LISTEN: "127.0.0.1:0",
    },
    register: async (gateway, openTurns) => {
      const nonce = crypto.randomUUID();
      const statement = { agent: "bea", owner: BEA_OWNER, gateway, nonce };
      const token = await signRegistration(statement, key, Date.now());
      const client = await connectBare(`ws://${gateway}/register`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return await agentOf(client, "bea", openTurns === undefined ? {} : { open_turns: openTurns });
    },
  };
}

/** Starts a program of the tree and waits until it says that it is ready. */
export async function startTeamchatProcess(
  env: Readonly<Record<string, string>>,
  entry = "teamchat/main.ts",
): Promise<TeamchatProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", entry],
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: env.FLEETCTL_ROOT ?? "/",
      DENO_DIR: Deno.env.get("DENO_DIR") ?? "",
      ...env,
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const ready = Promise.withResolvers<Record<string, unknown>>();
  ready.promise.catch(() => {});
  let text = "";
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const line = text.split("\n").slice(0, -1).find((one) => one.includes('"event":"ready"'));
      if (line !== undefined) ready.resolve(JSON.parse(line));
    }
    ready.reject(new Error(`the program ended: ${text}`));
  })();
  return {
    pid: child.pid,
    ready: await ready.promise,
    log: () => text,
    kill: async (signal = "SIGKILL") => {
      try {
        child.kill(signal);
      } catch {
        // It has ended.
      }
      await child.status;
      await reading;
    },
  };
}

/** Delivers an activity as the platform does; the status of the answer. */
export async function deliver(
  url: string,
  activity: unknown,
  kit: Pick<ConnectorKit, "keys" | "serviceUrl">,
): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${await kit.keys.token(kit.serviceUrl)}`,
    },
    body: JSON.stringify(activity),
  });
  await response.body?.cancel();
  return response.status;
}
