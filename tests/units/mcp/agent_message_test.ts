/**
 * The builtin server `agent-message` against the dial unit's real local socket: both ends must
 * agree on the messages.
 *
 * @module
 */

import assert from "node:assert/strict";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { refusal } from "core/errors.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { err, ok, type Result } from "core/result.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { openLocalSocket } from "units/dial/local_socket.ts";
import { openPending } from "units/dial/pending.ts";
import { openDialStore } from "units/dial/store.ts";
import { createAgentMessageServer } from "units/mcp/builtin/agent_message.ts";
import { memoryTurnFiles } from "tests/support/turn_files.ts";

type Sent = { readonly to: string; readonly text: string; readonly id?: string | undefined };

/** The gateway's answers in a test. */
interface Gateway {
  readonly names?: Result<readonly string[]>;
  readonly sent?: Result<void>;
}

const OFFLINE = refusal("gateway-silent", "Cannot send the message: the gateway did not answer");

async function withServer(
  gateway: Gateway,
  use: (client: Client, sent: readonly Sent[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "agent-message-" });
  const path = `${folder}/local.sock`;
  const host = memoryHost({ users: { currentUid: Deno.uid() ?? 0 } });
  const sent: Sent[] = [];
  const { clock, random, log } = host;
  const own = await openDialStore(host.databases, "/dial.db", "e");
  const socket = await openLocalSocket(path, {
    ...openPending({
      agent: "mia",
      own,
      clock,
      random,
      log,
      onStored: () => {},
      onWaiting: () => {},
    }),
    agent: "mia",
    mcps: { listed: () => () => {} },
    openTurnFiles: memoryTurnFiles(),
    turns: {
      begin: () => {
        throw new Error("no turns here");
      },
      preview: () => {},
    },
    sockets: host.sockets,
    users: host.users,
    log,
    isRootless: false,
    ownerFiles: { offer: () => Promise.reject(new Error("not asked here")) },
    conversations: {
      list: () => Promise.reject(new Error("not asked here")),
      remove: () => Promise.reject(new Error("not asked here")),
    },
    replacement: { prepare: () => Promise.reject(new Error("not asked here")) },
    usage: { sum: () => Promise.reject(new Error("not asked here")) },
    questions: {
      sendMessage: (message) => {
        sent.push(message);
        return Promise.resolve(gateway.sent ?? ok(undefined));
      },
      agentNames: () => Promise.resolve(gateway.names ?? ok([])),
      sendToOwner: () => Promise.reject(new Error("not asked here")),
      answered: () => false,
      resend: () => {},
    },
  });
  const server = createAgentMessageServer(path, {
    clock: host.clock,
    random: host.random,
    connect: connectUnix,
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "0" });
  try {
    await server.connect(far);
    await client.connect(near);
    await use(client, sent);
  } finally {
    await client.close();
    await server.close();
    await socket.close();
    await Deno.remove(folder, { recursive: true });
  }
}

function textOf(result: { readonly content?: unknown }): string {
  const [first] = result.content as readonly { readonly text?: string }[];
  return first?.text ?? "";
}

Deno.test("list_agents names the agents when the dial unit knows them", async () => {
  await withServer({ names: ok(["bea", "cleo"]) }, async (client) => {
    const result = await client.callTool({ name: "list_agents", arguments: {} });
    assert.notEqual(result.isError, true, textOf(result));
    assert.deepEqual(result.structuredContent, { agents: [{ name: "bea" }, { name: "cleo" }] });
  });
});

Deno.test("list_agents returns the dial unit's reason without a gateway", async () => {
  await withServer({ names: err(OFFLINE) }, async (client) => {
    const result = await client.callTool({ name: "list_agents", arguments: {} });
    assert.equal(result.isError, true);
    assert.equal(textOf(result), OFFLINE.message);
  });
});

Deno.test("send_message answers with the id that it sent", async () => {
  await withServer({}, async (client, sent) => {
    const call = { name: "send_message", arguments: { to: "bea", text: "hello" } };
    const result = await client.callTool(call);
    assert.notEqual(result.isError, true, textOf(result));
    const { accepted, id } = result.structuredContent as { accepted: boolean; id: string };
    assert.equal(accepted, true);
    assert.match(id, /^.{8,64}$/);
    assert.deepEqual(sent, [{ type: "message", to: "bea", text: "hello", id }]);
  });
});

Deno.test("send_message returns the gateway's reason when it refuses", async () => {
  const reason = refusal("receiver-unknown", "Cannot send the message: there is no such agent");
  await withServer({ sent: err(reason) }, async (client) => {
    const call = { name: "send_message", arguments: { to: "bea", text: "hello" } };
    const result = await client.callTool(call);
    assert.equal(result.isError, true);
    assert.equal(textOf(result), reason.message);
  });
});
