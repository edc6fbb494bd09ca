/**
 * An editor with the official ACP client, in front of a program that speaks ACP on its stdio.
 *
 * @module
 */

import {
  client,
  type ClientContext,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";

/** The editor. */
export interface AcpEditor {
  readonly agent: ClientContext;
  /** Updates of all threads, in order. */
  readonly updates: readonly SessionUpdate[];
  /** Texts of all chunks of messages. */
  said(): readonly string[];
  /** Opens a thread. */
  open(): Promise<string>;
  /** Sends a prompt; resolves with the stop reason, or with the error as text. */
  prompt(sessionId: string, text: string): Promise<string>;
  /** Resolves when an update has arrived that fits. */
  update(fits: (update: SessionUpdate) => boolean): Promise<SessionUpdate>;
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

/** Starts the program and initializes the connection. */
export async function startEditor(
  command: Deno.Command,
  decide: PermissionHandler,
): Promise<AcpEditor> {
  const child = command.spawn();
  const stderr = new Response(child.stderr).text();
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
  const connection = app.connect(ndJsonStream(child.stdin, child.stdout));
  const { agent } = connection;
  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  return {
    agent,
    updates,
    said: () => updates.flatMap(chunkText),
    async open() {
      const opened = await agent.request(methods.agent.session.new, { cwd: "/p", mcpServers: [] });
      return opened.sessionId;
    },
    prompt: (sessionId, text) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] })
        .then(({ stopReason }) => stopReason, (thrown) => String(thrown)),
    async update(fits) {
      for (;;) {
        const found = updates.find(fits);
        if (found !== undefined) return found;
        await changed.promise;
      }
    },
    async close() {
      connection.close();
      await child.stdin.close().catch(() => {/* the program has ended */});
      const { code } = await child.status;
      return { code, stderr: await stderr };
    },
  };
}

function chunkText(update: SessionUpdate): readonly string[] {
  if (update.sessionUpdate !== "agent_message_chunk") return [];
  return update.content.type === "text" ? [update.content.text] : [];
}
