/**
 * An editor with the official ACP client, in front of an ACP agent on a stream or on the stdio of a
 * program.
 *
 * @module
 */

import {
  client,
  type ClientContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type InitializeRequest,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from "@agentclientprotocol/sdk";

/** The editor. */
export interface ConnectedEditor {
  readonly agent: ClientContext;
  /** Updates of all threads, in order. */
  readonly updates: readonly SessionUpdate[];
  /** Texts of all chunks of messages. */
  texts(): readonly string[];
  /** Opens a thread. */
  open(): Promise<string>;
  /** Sends a prompt; resolves with the stop reason, or with the error. */
  prompt(sessionId: string, text: string): Promise<unknown>;
  /** Resolves when an update has arrived that fits. */
  update(fits: (update: SessionUpdate) => boolean): Promise<SessionUpdate>;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
}

/** An editor that has started its agent. */
export interface StartedEditor extends ConnectedEditor {
  /** Closes stdin; returns the exit code and everything on stderr. */
  close(): Promise<{ readonly code: number; readonly stderr: string }>;
}

/** Decides about a permission request; `withdrawn` aborts when the agent closes it. */
export type PermissionHandler = (
  request: RequestPermissionRequest,
  withdrawn: AbortSignal,
) => Promise<RequestPermissionResponse>;

/** Returns the answer that selects the option of this kind. */
export function choosing(kind: "allow_once" | "reject_once"): PermissionHandler {
  return async ({ options }) => {
    const option = options.find((offered) => offered.kind === kind);
    if (option === undefined) throw new Error(`no option ${kind}`);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  };
}

/** Fills in a form of the agent; `withdrawn` aborts when the agent closes it. */
export type FormHandler = (
  request: CreateElicitationRequest,
  withdrawn: AbortSignal,
) => Promise<CreateElicitationResponse>;

/** What the editor can show, besides permission requests. */
export interface EditorOptions {
  readonly capabilities?: NonNullable<InitializeRequest["clientCapabilities"]>;
  readonly fill?: FormHandler;
}

/** Connects, and initializes the connection. */
export async function connectEditor(
  stream: Stream,
  decide: PermissionHandler,
  { capabilities: clientCapabilities = {}, fill }: EditorOptions = {},
): Promise<ConnectedEditor> {
  const updates: SessionUpdate[] = [];
  let changed = Promise.withResolvers<void>();
  const app = client({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
      const { resolve } = changed;
      changed = Promise.withResolvers();
      resolve();
    })
    .onRequest(
      methods.client.session.requestPermission,
      ({ params, signal }) => decide(params, signal),
    );
  if (fill !== undefined) {
    app.onRequest(methods.client.elicitation.create, ({ params, signal }) => fill(params, signal));
  }
  const { agent, closed } = app.connect(stream);
  const protocolVersion = PROTOCOL_VERSION;
  await agent.request(methods.agent.initialize, { protocolVersion, clientCapabilities });
  return {
    agent,
    updates,
    closed,
    texts: () => updates.flatMap(messageText),
    async open() {
      const opened = await agent.request(methods.agent.session.new, { cwd: "/p", mcpServers: [] });
      return opened.sessionId;
    },
    prompt: (sessionId, text) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] })
        .then(({ stopReason }) => stopReason, (thrown: unknown) => thrown),
    async update(fits) {
      for (;;) {
        const found = updates.find(fits);
        if (found !== undefined) return found;
        await changed.promise;
      }
    },
  };
}

/** Starts the program with piped stdio, and connects to it. */
export async function startEditor(
  command: Deno.Command,
  decide: PermissionHandler,
): Promise<StartedEditor> {
  const child = command.spawn();
  const stderr = new Response(child.stderr).text();
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const piped = input.readable.pipeTo(child.stdin);
  const editor = await connectEditor(ndJsonStream(input.writable, child.stdout), decide);
  return {
    ...editor,
    async close() {
      await input.writable.close();
      await piped;
      const { code } = await child.status;
      return { code, stderr: await stderr };
    },
  };
}

function messageText(update: SessionUpdate): readonly string[] {
  if (update.sessionUpdate !== "agent_message_chunk") return [];
  return update.content.type === "text" ? [update.content.text] : [];
}
