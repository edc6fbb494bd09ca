/**
 * Receiver and sender of a team-chat gateway as processes under one root, each with the permission
 * set of a host. Tests start, kill and query them.
 *
 * @module
 */

import { pathsUnder } from "core/paths.ts";
import { type ServedFiles, serveFiles } from "tests/teamchat/connector/file_service.ts";
import { type ServedKit, serveKit } from "tests/teamchat/connector/kit.ts";
import type { TestAgent } from "tests/teamchat/fixture.ts";
import {
  makeTeamchatRoot,
  startTeamchatProcess,
  type TeamchatRoot,
} from "tests/teamchat/gateway_process.ts";
import type { ReadyProcess } from "tests/support/ready_process.ts";

/** Receiver and sender of one gateway under one root. */
export class ReceiverAndSender {
  readonly #at: TeamchatRoot;
  sender: ReadyProcess | undefined;
  receiver: ReadyProcess | undefined;

  constructor(at: TeamchatRoot) {
    this.#at = at;
  }

  async startSender(): Promise<void> {
    this.sender = await startTeamchatProcess({ ...this.#at.env, TEAMS_RECEIVER: "apart" }, {
      set: { name: "teamchat", file: this.#at.permissions },
    });
  }

  async startReceiver(): Promise<void> {
    const { TEAMS_APP_PASSWORD: _, TEAMS_REGISTER_LISTEN: __, ...env } = this.#at.env;
    this.receiver = await startTeamchatProcess(env, {
      entry: "teamchat/receiver/main.ts",
      set: { name: "teamchat-receiver", file: this.#at.permissions },
    });
  }

  get url(): string {
    return `http://${this.receiver?.ready.messages}/api/messages`;
  }

  async health(): Promise<Record<string, unknown>> {
    return await (await fetch(`http://${this.receiver?.ready.messages}/healthz`)).json();
  }

  /** Waits until the sender has connected to the receiver. */
  async joined(): Promise<void> {
    while (((await this.health()).problems as string[]).includes("sender-away")) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Connects in place of the sender. */
  async connectAsSender(): Promise<Deno.Conn> {
    const path = pathsUnder(this.#at.root).teamchatHandover;
    return await Deno.connect({ transport: "unix", path });
  }

  /** Returns whether the receiver has left a spool file. */
  async hasSpool(): Promise<boolean> {
    const { teamchatSpool } = pathsUnder(this.#at.root);
    return await Deno.lstat(teamchatSpool).then(() => true, () => false);
  }

  /** Writes the owners file, as `apply` does. */
  async setOwners(owners: Readonly<Record<string, string>> | string): Promise<void> {
    const { teamsAgents } = pathsUnder(this.#at.root);
    await Deno.writeTextFile(
      `${teamsAgents}.new`,
      typeof owners === "string" ? owners : JSON.stringify(owners),
    );
    await Deno.rename(`${teamsAgents}.new`, teamsAgents);
  }

  async register(frame: Readonly<Record<string, unknown>> = {}): Promise<TestAgent> {
    const gateway = String(this.sender?.ready.register);
    return await this.#at.register(gateway, { open_turns: [], ...frame });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sender?.kill();
    await this.receiver?.kill();
    await Deno.remove(this.#at.root, { recursive: true });
  }
}

/** Registers a test of receiver and sender with their own kit. */
export function pairTest(
  name: string,
  fn: (pair: ReceiverAndSender, served: ServedKit, files: ServedFiles) => Promise<void>,
): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      await using served = await serveKit({ rules: { streamGapMs: 0 } });
      await using files = serveFiles(served.kit.files);
      const root = await makeTeamchatRoot(served.kit, { fileOrigin: files.origin });
      await using pair = new ReceiverAndSender(root);
      await fn(pair, served, files);
    },
  });
}

/** Disconnects the agent. */
export async function leave(agent: TestAgent): Promise<void> {
  agent.connection.terminate();
  await agent.closed;
}
