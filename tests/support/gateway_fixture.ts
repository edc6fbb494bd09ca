/**
 * A real gateway on loopback, and a bare dial-in client that sends frames one by one.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { DIAL_SUBPROTOCOL, dialProofText } from "core/dial/frames.ts";
import { type DialKey, signProof } from "core/dial/proof.ts";
import type { Host } from "core/ports/host.ts";
import type { FrameConnection } from "core/ports/sockets.ts";
import { systemSockets } from "core/os/sockets.ts";
import { readGatewayConfig } from "gateway/config.ts";
import type { VerbRunner } from "gateway/daemon_verbs.ts";
import type { EnrollKey } from "gateway/dial/key_forwarder.ts";
import { type Gateway, startGateway } from "gateway/gateway.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { recordingLog } from "tests/fakes/log.ts";

/** Identities of every test: mia and bob own agents; ada's owner is an admin. */
export const LEDGER = {
  "mia@example.org": "mia",
  "bob@example.org": "bob",
  "ada@example.org": "ada",
} as const;

/** A running gateway and its addresses. */
export interface TestGateway {
  readonly gateway: Gateway;
  readonly host: MemoryHost;
  readonly dialUrl: string;
  readonly cockpitUrl: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Options of a test gateway. */
export interface GatewayOptions {
  readonly host?: Host;
  readonly env?: Readonly<Record<string, string>>;
  readonly dialPort?: number;
  /** The file of the roster that the gateway follows. */
  readonly rosterFile?: string;
  readonly forwardKey?: EnrollKey;
  readonly verbs?: VerbRunner;
}

/** Declares a test with its own gateway; the test must not leak resources. */
export function gatewayTest(
  name: string,
  fn: (running: TestGateway) => Promise<void>,
  options: GatewayOptions = {},
): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      await using running = await startTestGateway(options);
      await fn(running);
    },
  });
}

/** Starts a gateway on free ports; `host` may provide another clock or other databases. */
export async function startTestGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const host = options.host ?? memoryHost();
  const config = await readGatewayConfig({
    FLEETCTL_ROOT: "/r",
    WEBVIEW_COCKPIT_LISTEN: "127.0.0.1:0",
    WEBVIEW_DIAL_LISTEN: `127.0.0.1:${options.dialPort ?? 0}`,
    WEBVIEW_LEDGER: JSON.stringify(LEDGER),
    WEBVIEW_ADMINS: '["ada"]',
    ...options.env,
  }, options.rosterFile);
  if (!config.ok) throw new Error(config.error.details.join("; "));
  const gateway = await startGateway(config.value, host, {
    version: "1.2.3",
    hostNames: [],
    ...defined({ forwardKey: options.forwardKey, verbs: options.verbs }),
  });
  return {
    gateway,
    host: host as MemoryHost,
    dialUrl: `ws://127.0.0.1:${gateway.dial.port}`,
    cockpitUrl: `http://127.0.0.1:${gateway.cockpit.port}`,
    [Symbol.asyncDispose]: () => gateway.close(),
  };
}

/** A frame as it was received. */
export type AnyFrame = Readonly<Record<string, unknown>> & { readonly type: string };

/** A dial-in client controlled by a test. */
export interface BareClient {
  readonly connection: FrameConnection;
  send(frame: unknown): void;
  sendText(text: string): void;
  /** Resolves with the next frame of this type, among those already received and those to come. */
  next(type: string): Promise<AnyFrame>;
  readonly frames: readonly AnyFrame[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Connects; frames are kept until a test requests them. */
export async function connectBare(
  url: string,
  options: {
    readonly protocols?: readonly string[];
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<BareClient> {
  const sockets = systemSockets({ processes: fakeProcesses(), log: recordingLog() });
  const connection = await sockets.connectFrames(url, {
    frameBytesMax: 4 * 1024 * 1024,
    timeoutMs: 5_000,
    ...options,
  });
  const frames: AnyFrame[] = [];
  const taken = new Set<AnyFrame>();
  let onFrame = () => {};
  connection.onMessage((text) => {
    frames.push(JSON.parse(text) as AnyFrame);
    onFrame();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    connection.onClose((code, reason) => resolve({ code, reason }))
  );
  return {
    connection,
    send: (frame) => connection.send(JSON.stringify(frame)),
    sendText: (text) => connection.send(text),
    frames,
    closed,
    next: async (type) => {
      while (true) {
        const found = frames.find((frame) => frame.type === type && !taken.has(frame));
        if (found !== undefined) {
          taken.add(found);
          return found;
        }
        await new Promise<void>((resolve) => {
          onFrame = resolve;
        });
      }
    },
  };
}

/** Connects and registers as an agent without a key. */
export async function registerBare(
  url: string,
  frame: Readonly<Record<string, unknown>> = {},
): Promise<BareClient> {
  const client = await connectBare(url);
  client.send({ type: "register", user_email: "mia@example.org", agent: "mia", ...frame });
  await client.next("registered");
  return client;
}

/**
 * Connects with the subprotocol and answers the challenge with `key`; `spoil` may change the frame.
 */
export async function proveKey(
  url: string,
  key: DialKey,
  change: {
    readonly agent?: string;
    readonly userEmail?: string;
    readonly spoil?: (frame: Record<string, unknown>) => void;
  } = {},
): Promise<BareClient & { readonly nonce: string }> {
  const client = await connectBare(url, { protocols: [DIAL_SUBPROTOCOL] });
  const nonce = String((await client.next("challenge")).nonce);
  const { agent = "mia", userEmail = "mia@example.org" } = change;
  const who = { agent, host: "atlas" };
  const text = dialProofText({ nonce, ...who, userEmail, gateway: new URL(url).host });
  const frame: Record<string, unknown> = {
    type: "register",
    user_email: userEmail,
    ...who,
    key: key.publicKey,
    proof: await signProof(key, text),
  };
  change.spoil?.(frame);
  client.send(frame);
  return Object.assign(client, { nonce });
}
