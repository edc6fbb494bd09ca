/**
 * Data for the team-chat bench: tokens, owners, messages, and a function that posts one and waits.
 *
 * @module
 */

import type { Subject } from "tests/teamchat/sdks/subjects.ts";
import { PUBLIC_ISSUER, type World } from "tests/teamchat/sdks/world.ts";
import { TENANT } from "tests/teamchat/connector/keys.ts";
import { messageOf } from "tests/teamchat/fixture.ts";

const encoder = new TextEncoder();

/** Returns a valid token; each `n` gives a different one. */
export function tokenOf(world: World, n = 0): Promise<string> {
  return world.keys.token(world.serviceUrl, { claims: { iss: PUBLIC_ISSUER, jti: String(n) } });
}

/** Returns the object id of the `n`-th owner. */
export function ownerOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}

/** Returns the conversation of the `n`-th owner. */
export function conversationOf(n: number): string {
  return `a:owner-${n}`;
}

/** Returns `count` owners, each with their own agent. */
export function ownersOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [ownerOf(n), `agent-${n}`]));
}

/** Returns a message of the `n`-th owner with every field that the platform sends, 1.1 KB. */
export function messageText(world: World, n: number, text = "hello"): string {
  return JSON.stringify(messageOf(world, {
    text,
    textFormat: "plain",
    attachments: [{ contentType: "text/html", content: `<p>${text}</p>` }],
    from: { id: `29:owner-${n}`, name: "Owner", aadObjectId: ownerOf(n) },
    conversation: { id: conversationOf(n), conversationType: "personal", tenantId: TENANT },
    entities: [{
      type: "clientInfo",
      locale: "en-US",
      country: "US",
      platform: "Windows",
      timezone: "Europe/Berlin",
    }],
    channelData: { tenant: { id: TENANT } },
    locale: "en-US",
    localTimezone: "Europe/Berlin",
    localTimestamp: "2026-01-01T13:00:00.000+01:00",
  }));
}

/** Returns the same message as the bytes of a whole request. */
export function requestOf(
  world: World,
  of: { readonly n: number; readonly token: string; readonly text?: string },
): Uint8Array<ArrayBuffer> {
  const body = messageText(world, of.n, of.text);
  return encoder.encode(
    "POST /api/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
      `authorization: Bearer ${of.token}\r\n` +
      `content-length: ${encoder.encode(body).length}\r\n\r\n${body}`,
  );
}

/** Used connections that are now free. */
const free = new Map<number, Deno.Conn[]>();

/** Closes the connections that `post` keeps open. */
export function closeConnections(): void {
  for (const list of free.values()) for (const connection of list) connection.close();
  free.clear();
}

/** Posts over a kept connection; resolves when the answer has arrived. */
export async function post(subject: Subject, request: Uint8Array): Promise<void> {
  const list = free.get(subject.port) ?? [];
  free.set(subject.port, list);
  const kept = list.pop();
  const connection = kept ?? await Deno.connect({ hostname: "127.0.0.1", port: subject.port });
  const buffer = new Uint8Array(16 * 1024);
  const read = await connection.write(request).then(() => connection.read(buffer))
    .catch(() => null);
  if (read === null && kept !== undefined) {
    // The subject has closed the connection after an idle timeout, as servers do.
    connection.close();
    return await post(subject, request);
  }
  const text = new TextDecoder().decode(buffer.subarray(0, read ?? 0));
  if (!/^HTTP\/1.1 20[02]/.test(text)) throw new Error(text.slice(0, 300));
  list.push(connection);
}
