/**
 * A scripted cockpit for tests of the page: a real gateway with a stopped clock, agents that the
 * test controls, a proxy that adds the viewer's identity (the login proxy's task on a host), and a
 * bad network in front of it all.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { VerbRunner } from "gateway/daemon_verbs.ts";
import { type ChaosProxy, startChaosProxy } from "tests/support/chaos_proxy.ts";
import { type BareClient, connectBare, startTestGateway } from "tests/support/gateway_fixture.ts";
import { TREE } from "tests/support/module_graph.ts";
import { memoryHost } from "tests/fakes/host.ts";
import type { MemoryFiles } from "tests/fakes/files.ts";
import { type HostKeys, hostKeys, type ScriptedHost } from "tests/support/scripted_host.ts";

/** Start time of every scene: a Friday morning. */
export const SCENE_NOW = Date.UTC(2026, 2, 6, 9, 30);
/** Folder of the built page. */
export const BUILT = `${TREE}.cache/web`;

/** Builds the page of the tree if its sources have changed. */
export async function buildPage(): Promise<void> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--cached-only", `${TREE}gateway/web_build/main.ts`, BUILT],
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!output.success) throw new Error(new TextDecoder().decode(output.stderr));
}

/** Copies the built page to the folder where a gateway looks for it. */
export async function copyPage(files: MemoryFiles, dir: string): Promise<void> {
  await files.ensureDir(dir);
  for await (const entry of Deno.readDir(BUILT)) {
    await files.write(`${dir}/${entry.name}`, await Deno.readFile(`${BUILT}/${entry.name}`));
  }
}

/** An agent that a test controls. */
export interface ScriptedAgent {
  readonly client: BareClient;
  /** Sends a durable event and waits until the gateway has received it. */
  emit(kind: string, payload: unknown, of?: { turnId?: string; at?: number }): Promise<void>;
  /** Sends events without waiting for each; resolves when the last is stored. */
  flood(
    count: number,
    make: (
      index: number,
    ) => readonly [kind: string, payload: unknown, of?: { readonly turnId?: string }],
  ): Promise<void>;
  preview(turnId: string, messageId: string, text: string, offset: number): void;
  state(state: string, reason?: string): Promise<void>;
  /** Accepts the next turn and reports that it has started. */
  takeTurn(
    started?: { readonly steers?: true },
  ): Promise<{ readonly turnId: string; readonly text: string }>;
  /** Sends a tool call with its result. */
  call(turnId: string, of: ScriptedCall): Promise<void>;
  say(turnId: string, text: string, messageId?: string): Promise<void>;
  end(turnId: string, outcome?: string, more?: Record<string, string>): Promise<void>;
}

/** A tool call of a script. */
export interface ScriptedCall {
  readonly tool: string;
  readonly mcp?: string;
  readonly arguments: unknown;
  readonly result?: string;
  readonly status?: string;
  readonly durationMs?: number;
  readonly cutBytes?: number;
}

/** A cockpit and the network path to it. */
export interface PageScene extends AsyncDisposable {
  /** Address for the browser, through the bad network. */
  readonly url: string;
  /** Address of the gateway itself. */
  readonly cockpitUrl: string;
  readonly network: ChaosProxy;
  /** Method and path of each request that reached the proxy. */
  readonly requests: { readonly method: string; readonly path: string }[];
  agent(name: string): Promise<ScriptedAgent>;
  /** Keys of hosts at this gateway. */
  readonly keys: HostKeys;
  /** Connects an enrolled host. */
  host(name: string, of?: { readonly version?: string }): Promise<ScriptedHost>;
  /** Advances the gateway's clock. */
  advance(ms: number): Promise<void>;
  /** Queues a turn as the viewer would. */
  ask(agent: string, text: string): Promise<string>;
  /** Ends the session: while `isOut`, the proxy redirects to its login. */
  signOut(isOut: boolean): void;
  /** Signs in another user from now on. */
  signIn(email: string): void;
}

/** Starts a scene for one viewer. Ada's owner is an admin and sees all agents. */
export async function startScene(
  email = "ada@example.org",
  more: { readonly verbs?: VerbRunner } = {},
): Promise<PageScene> {
  await buildPage();
  const host = memoryHost({ now: SCENE_NOW });
  await copyPage(host.files, "/r/usr/lib/fleetctl/web");
  const running = await startTestGateway({ host, ...more });
  const requests: { method: string; path: string }[] = [];
  let isOut = false;
  let viewer = email;
  const proxy = startIdentityProxy(running.cockpitUrl, {
    prove: () => Promise.resolve({ "x-user-email": viewer }),
    isOut: () => isOut,
    note: (method, path) => requests.push({ method, path }),
  });
  const network = startChaosProxy(proxy.port);
  const clients: BareClient[] = [];
  const keys = hostKeys(host.files);
  return {
    url: `http://localhost:${network.port}`,
    cockpitUrl: running.cockpitUrl,
    network,
    requests,
    signOut: (value) => {
      isOut = value;
    },
    signIn: (other) => {
      viewer = other;
    },
    keys,
    host: async (name, of) => {
      const connected = await keys.connect(running.dialUrl, name, of);
      clients.push(connected.client);
      return connected;
    },
    advance: (ms) => host.clock.advance(ms),
    agent: async (name) => {
      const client = await connectBare(running.dialUrl);
      clients.push(client);
      await registerAgent(client, name);
      return scriptedAgent(client);
    },
    ask: (agent, text) => queueTurn(running.cockpitUrl, email, { agent, text }),
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.connection.close(1000, "over");
      await network.close();
      await proxy.close();
      await running[Symbol.asyncDispose]();
    },
  };
}

async function registerAgent(client: BareClient, name: string): Promise<void> {
  client.send({
    type: "register",
    user_email: `${name}@example.org`,
    agent: name,
    epoch: crypto.randomUUID(),
    host: "forge",
    version: "0.1.0",
    protocol: 1,
    capabilities: ["turns", "messages", "steer"],
  });
  await client.next("registered");
}

/** Queues a turn at the cockpit as a user; returns its id. */
async function queueTurn(
  cockpitUrl: string,
  email: string,
  turn: { readonly agent: string; readonly text: string },
): Promise<string> {
  const response = await fetch(`${cockpitUrl}/api/turns`, {
    method: "POST",
    headers: {
      "x-user-email": email,
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
    },
    body: JSON.stringify(turn),
  });
  const answer = await response.json() as { readonly turn_id?: string };
  if (answer.turn_id === undefined) throw new Error(JSON.stringify(answer));
  return answer.turn_id;
}

/**
 * Starts a proxy that adds the viewer's identity, as the login proxy does. Nothing else of a
 * request changes.
 */
export function startIdentityProxy(
  target: string,
  of: {
    readonly prove: (method: string, path: string) => Promise<Readonly<Record<string, string>>>;
    readonly isOut?: () => boolean;
    readonly note?: (method: string, path: string) => void;
    /** Pages of the test itself, by path. */
    readonly pages?: ReadonlyMap<string, string>;
  },
): { readonly port: number; close(): Promise<void> } {
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: closing.signal, onListen: () => {} },
    async (request, info) => {
      // A disconnected browser ends its requests at the gateway, as with the login proxy.
      const gone = new AbortController();
      info.completed.catch(() => {}).finally(() => gone.abort());
      const url = new URL(request.url);
      of.note?.(request.method, url.pathname + url.search);
      const own = of.pages?.get(url.pathname);
      if (own !== undefined) return new Response(own, { headers: { "content-type": "text/html" } });
      if (of.isOut?.() === true) {
        return new Response(null, { status: 302, headers: { location: "/login" } });
      }
      const headers = new Headers(request.headers);
      for (const [name, value] of Object.entries(await of.prove(request.method, url.pathname))) {
        headers.set(name, value);
      }
      try {
        return await fetch(`${target}${url.pathname}${url.search}`, {
          method: request.method,
          headers,
          body: request.body,
          redirect: "manual",
          signal: AbortSignal.any([closing.signal, gone.signal]),
        });
      } catch {
        return new Response("the gateway is away", { status: 502 });
      }
    },
  );
  return {
    port: server.addr.port,
    close: async () => {
      closing.abort();
      await server.finished;
    },
  };
}

function scriptedAgent(client: BareClient): ScriptedAgent {
  let seq = 0;
  let acked = 0;
  let calls = 0;
  const push = (kind: string, payload: unknown, of: { turnId?: string; at?: number } = {}) => {
    seq++;
    client.send({
      type: "event",
      event: { seq, kind, payload, at: of.at ?? SCENE_NOW, ...defined({ turn_id: of.turnId }) },
    });
  };
  const settle = async (wanted: number) => {
    while (acked < wanted) acked = Math.max(acked, Number((await client.next("ack")).seq));
  };
  const emit: ScriptedAgent["emit"] = async (kind, payload, of) => {
    push(kind, payload, of);
    await settle(seq);
  };
  return {
    client,
    emit,
    flood: async (count, make) => {
      for (let index = 0; index < count; index++) {
        push(...make(index));
        if (index % 200 === 199) await settle(seq);
      }
      await settle(seq);
    },
    preview: (turnId, messageId, text, offset) =>
      client.send({
        type: "preview",
        event: {
          turn_id: turnId,
          kind: "text_delta",
          payload: { message_id: messageId, text, offset },
        },
      }),
    state: (state, reason) =>
      emit("agent_state", { state, since: SCENE_NOW - 240_000, ...defined({ reason }) }),
    takeTurn: async (started = {}) => {
      const frame = await client.next("turn");
      const turnId = String(frame.turn_id);
      client.send({ type: "turn_accepted", turn_id: turnId });
      await emit("turn_started", started, { turnId });
      return { turnId, text: String(frame.text) };
    },
    call: async (turnId, of) => {
      const callId = `call-${++calls}`;
      await emit("tool_call", {
        call_id: callId,
        mcp: of.mcp ?? null,
        tool: of.tool,
        arguments: of.arguments,
      }, { turnId });
      if (of.result === undefined) return;
      await emit("tool_result", {
        call_id: callId,
        status: of.status ?? "completed",
        text: of.result,
        duration_ms: of.durationMs ?? 42,
        cut_bytes: of.cutBytes ?? 0,
      }, { turnId });
    },
    say: (turnId, text, messageId = crypto.randomUUID()) =>
      emit("message", { message_id: messageId, role: "assistant", text }, { turnId }),
    end: (turnId, outcome = "completed", more = {}) =>
      emit("turn_ended", { outcome, ...more }, { turnId }),
  };
}
