/**
 * A team-chat gateway in cloud mode against the kit, and the real dial unit of its agent with a
 * scripted runtime: both ends of a gateway connection, real time, real sockets, and a real disk for
 * the agent.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import { systemClock } from "core/os/clock.ts";
import { pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { startTeamchat } from "teamchat/teamchat.ts";
import { readTeamchatConfig, type TeamchatConfig } from "teamchat/config.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { hastyClock, startTestDial } from "tests/support/dial_fixture.ts";
import { APP_ID, APP_SECRET, type ConnectorKit, TENANT } from "tests/teamchat/connector/kit.ts";
import { BEA_OWNER, messageOf } from "tests/teamchat/fixture.ts";
import { kitHost } from "tests/teamchat/kit_host.ts";
import { deliver } from "tests/teamchat/gateway_process.ts";

/** The gateway and the dial unit. */
export interface TeamchatPair extends AsyncDisposable {
  readonly kit: ConnectorKit;
  /** The agent's home. */
  readonly home: string;
  /** Posts an activity as bea's owner; returns the HTTP status. */
  post(activity: Record<string, unknown>): Promise<number>;
  message(text: string, more?: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Sends one request on the agent's local socket. */
  ask(question: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>>;
  /** Waits until a condition is true. */
  until(test: () => boolean): Promise<void>;
}

const PATIENCE_MS = 60_000;

/** Starts both; resolves when the agent is registered. */
export async function startTeamchatPair(
  driver: RuntimeDriver,
  env: Readonly<Record<string, string>> = {},
): Promise<TeamchatPair> {
  const machine = await kitHost({ platformClock: "real" });
  const host = { ...machine.host, clock: systemClock() };
  const { kit } = machine;
  const { etc, dialKeys } = pathsUnder("/r");
  await host.files.ensureDir(etc);
  await host.files.write(dialKeys, "{}");
  const teamchat = await startTeamchat(configOf(kit, env), host, {
    version: "1.2.3",
    hostNames: [],
  });
  const root = await Deno.makeTempDir({ prefix: "ft-" });
  const real = openHost({ log: { program: "test", level: "error" } });
  const unit = await startTestDial({
    url: "",
    driver,
    host: { ...real, clock: hastyClock(), log: recordingLog() },
    env: {
      FLEETCTL_ROOT: root,
      FLEETCTL_AGENT: "bea",
      CHANNEL_USER_EMAIL: "",
      CHANNEL_WEBVIEW_GATEWAY_URL: "",
      CHANNEL_TEAMCHAT_GATEWAY_URL: `ws://127.0.0.1:${teamchat.register.port}/register`,
      CHANNEL_OWNER_AAD: BEA_OWNER,
    },
  });
  const home = `${root}/home/bea`;
  const { public: publicKey } = JSON.parse(
    await Deno.readTextFile(`${home}/.fleetctl/dial/key.json`),
  );
  await host.files.write(dialKeys, JSON.stringify({ bea: [publicKey] }));
  const port = teamchat.messages?.port ?? 0;
  const until = async (test: () => boolean) => {
    const end = host.clock.monotonic() + PATIENCE_MS;
    while (!test()) {
      if (host.clock.monotonic() > end) throw new Error("it did not happen within a minute");
      await host.clock.sleep(5);
    }
  };
  await until(() => unit.isConnected());
  return {
    kit,
    home,
    until,
    message: (text, more = {}) => messageOf(kit, { text, ...more }),
    post: (activity) => deliver(`http://127.0.0.1:${port}/api/messages`, activity, kit),
    ask: (question) => askSocket(real, `${home}/.fleetctl/dial/local.sock`, question),
    [Symbol.asyncDispose]: async () => {
      await unit.close();
      await teamchat.close();
      await Deno.remove(root, { recursive: true });
    },
  };
}

/** Reads the settings of a gateway in cloud mode with one agent, bea. */
function configOf(kit: ConnectorKit, env: Readonly<Record<string, string>>): TeamchatConfig {
  const config = readTeamchatConfig({
    FLEETCTL_ROOT: "/r",
    TEAMS_APP_ID: APP_ID,
    TEAMS_APP_PASSWORD: APP_SECRET,
    TEAMS_APP_TENANT_ID: TENANT,
    TEAMS_AGENTS: JSON.stringify({ [BEA_OWNER]: "bea" }),
    TEAMS_CLOUD: "/etc/cloud.yaml",
    TEAMS_LISTEN: "127.0.0.1:0",
    TEAMS_REGISTER_LISTEN: "127.0.0.1:0",
    ...env,
  }, { privateAddress: undefined, cloudFile: kit.cloudFile });
  if (!config.ok) throw new Error(config.error.details.join("; "));
  return config.value;
}

/** Sends one request on a local socket; returns the first line of the answer. */
async function askSocket(
  { sockets }: Pick<Host, "sockets">,
  path: string,
  question: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const stream = await sockets.connectUnix(path);
  try {
    const line = new TextEncoder().encode(`${JSON.stringify(question)}\n`);
    await stream.writable.getWriter().write(line);
    let text = "";
    for await (const chunk of stream.readable.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.endsWith("\n")) break;
    }
    return JSON.parse(text);
  } finally {
    stream.close();
  }
}
