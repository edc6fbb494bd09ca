/**
 * The team-chat gateway as a separate process, for tests that kill it or put a peer before it.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type DialKey, generateDialKey } from "core/dial/proof.ts";
import { pathsUnder } from "core/paths.ts";
import { hostPortOf, parseCloud, reachableHosts } from "core/teamchat/cloud.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import { type BareClient, connectBare } from "tests/support/gateway_fixture.ts";
import { TREE } from "tests/support/module_graph.ts";
import { APP_ID, APP_SECRET, type ConnectorKit, TENANT } from "tests/teamchat/connector/kit.ts";
import { agentOf, BEA_OWNER, type TestAgent } from "tests/teamchat/fixture.ts";
import { hostPermissions, renderHostPermissions } from "units/render/permission_files.ts";
import { type ReadyProcess, startReady } from "tests/support/ready_process.ts";

/** Settings of one test run: a root with a cloud and bea's key. */
export interface TeamchatRoot {
  readonly root: string;
  /** The permission sets of receiver and sender, as on a host. */
  readonly permissions: string;
  readonly env: Readonly<Record<string, string>>;
  /** Registers bea at an address; `frame` adds to the register frame. */
  register(gateway: string, frame?: Readonly<Record<string, unknown>>): Promise<TestAgent>;
}

/** Makes a root for gateways that use `kit`. */
export async function makeTeamchatRoot(
  kit: ConnectorKit,
  { fileOrigin }: { readonly fileOrigin?: string } = {},
): Promise<TeamchatRoot> {
  const root = await Deno.makeTempDir({ prefix: "ft-" });
  const { key } = await generateDialKey();
  const { dialKeys, etc, role, teamsAgents } = pathsUnder(root);
  await Deno.mkdir(etc, { recursive: true });
  // On a host, the service manager makes these folders.
  for (const name of ["teamchat", "teamchat-receiver"]) {
    await Deno.mkdir(role(name), { recursive: true });
  }
  await Deno.writeTextFile(dialKeys, JSON.stringify({ bea: [key.publicKey] }));
  await Deno.writeTextFile(teamsAgents, JSON.stringify({ [BEA_OWNER]: "bea" }));
  const cloud = `${root}/cloud.yaml`;
  await Deno.writeTextFile(cloud, kit.cloudFile);
  return {
    root,
    permissions: await writePermissions(root, kit, { cloud, fileOrigin }),
    env: {
      FLEETCTL_ROOT: root,
      TEAMS_APP_ID: APP_ID,
      TEAMS_APP_PASSWORD: APP_SECRET,
      TEAMS_APP_TENANT_ID: TENANT,
      TEAMS_AGENTS: teamsAgents,
      TEAMS_CLOUD: cloud,
      TEAMS_LISTEN: "127.0.0.1:0",
      TEAMS_REGISTER_LISTEN: "127.0.0.1:0",
      ...defined({ TEAMS_FILE_HOSTS: fileOrigin }),
    },
    register: async (gateway, frame = {}) => await agentOf(await dial(gateway, key), "bea", frame),
  };
}

/** Dials as a dial unit does: it retries when a busy machine did not answer in time. */
async function dial(gateway: string, key: DialKey, triesLeft = 5): Promise<BareClient> {
  const statement = { agent: "bea", owner: BEA_OWNER, gateway, nonce: crypto.randomUUID() };
  const token = await signRegistration(statement, key, Date.now());
  try {
    return await connectBare(`ws://${gateway}/register`, {
      headers: { authorization: `Bearer ${token}` },
    });
  } catch (thrown) {
    if (triesLeft === 0) throw thrown;
    return await dial(gateway, key, triesLeft - 1);
  }
}

/** Writes what `apply` renders for a host with a separate receiver process. */
async function writePermissions(
  root: string,
  kit: ConnectorKit,
  { cloud: file, fileOrigin }: { readonly cloud: string; readonly fileOrigin: string | undefined },
): Promise<string> {
  const cloud = parseCloud(kit.cloudFile, file);
  if (!cloud.ok) throw new Error(cloud.error.message);
  const hosts = reachableHosts([cloud.value], "cloud");
  const ofFiles = fileOrigin === undefined ? [] : [hostPortOf(new URL(fileOrigin))];
  const site = {
    paths: pathsUnder(root),
    shape: { kind: "tree", dir: TREE.replace(/\/$/, ""), denoDir: root },
    roles: {
      teamchat: {
        listen: "127.0.0.1:0",
        registerListen: "127.0.0.1:0",
        hosts: { ...hosts, answers: [...hosts.answers, ...ofFiles] },
        cloudFile: file,
      },
    },
  } as const;
  const sets = hostPermissions(site);
  if (!sets.ok) throw new Error(sets.error.message);
  const path = `${root}/permissions.json`;
  await Deno.writeTextFile(path, renderHostPermissions(site, sets.value).content);
  return path;
}

/** How a program is started: its entry, and its permission set if its rights are restricted. */
export interface TeamchatStart {
  readonly entry?: string;
  readonly set?: { readonly name: string; readonly file: string };
}

/** Starts receiver, sender or the whole gateway, and waits until it reports that it is ready. */
export async function startTeamchatProcess(
  env: TeamchatRoot["env"],
  { entry = "teamchat/main.ts", set }: TeamchatStart = {},
): Promise<ReadyProcess> {
  const rights = set === undefined
    ? ["-A"]
    : ["--no-prompt", "--cached-only", "--config", set.file, `-P=${set.name}`];
  return await startReady(entry, env, rights);
}

/** Delivers an activity as the platform does; returns the status of the answer. */
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

/** Holds the next request of a kind at the platform, before or after it is executed. */
export function holdOf(kit: Pick<ConnectorKit, "script">, kind: string, hold: "before" | "after") {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const effect = { hold, reached: reached.resolve, release: released.promise };
  kit.script({ kind, effect });
  return { reached: reached.promise, release: released.resolve };
}
