/**
 * Calls that wait until the current server has listed its tools. A call is thus never sent for a
 * tool that was not compared with the accepted one. The list is the proxy's own request: the client
 * neither sees it nor can skip it. A call leaves the table once: sent, refused, or cancelled.
 *
 * @module
 */

import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Message, MessageId } from "units/mcp/message.ts";
import { createOwnRequests, type OwnRequests } from "units/mcp/own_requests.ts";
import { nextCursor, printListRequest, protocolMeta } from "units/mcp/tool_watch.ts";
import { isRecord } from "core/text/json_object.ts";

type Request = Extract<Message, { kind: "request" }>;
type Send = (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;

/** The table, and the proxy's own requests. */
export interface UnlistedCalls {
  readonly own: OwnRequests;
  readonly size: number;
  has(id: MessageId): boolean;
  /** The client no longer wants the answer. */
  withdraw(id: unknown): void;
  /**
   * Requests the tool list for a call; undefined when the call was withdrawn meanwhile. Concurrent
   * calls share one list. The error is a clause for a message.
   */
  wait(request: Request, send: Send): Promise<Result<void, string> | undefined>;
  /** The server is gone, and all its lists with it. */
  end(why: string): void;
}

/** Maximum number of pages; a server with more does not list its tools properly. */
const PAGES_MAX = 100;

/** Creates an empty table; `onPage` receives each answer. */
export function createUnlistedCalls(
  clock: Pick<Clock, "after">,
  onPage: (value: Readonly<Record<string, unknown>>) => Promise<void>,
): UnlistedCalls {
  const own = createOwnRequests(clock, MCP_LIMITS.handshakeSeconds);
  const open = new Set<MessageId>();
  let listing: Promise<Result<void, string>> | undefined;

  async function list(meta: unknown, send: Send): Promise<Result<void, string>> {
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const requested = cursor;
      const answer = await own.ask(
        (id) => printListRequest(id, protocolMeta(meta), requested),
        send,
      );
      if (!answer.ok) return answer;
      const { result } = answer.value;
      if (!isRecord(result) || !Array.isArray(result["tools"])) {
        return err("it answered without a list of tools");
      }
      await onPage(answer.value);
      cursor = nextCursor(result);
      if (cursor === undefined) return ok(undefined);
    }
    return err(`its list has more than ${PAGES_MAX} pages`);
  }

  return {
    own,
    get size() {
      return open.size;
    },
    has: (id) => open.has(id),
    withdraw: (id) => void open.delete(id as MessageId),
    async wait(request, send) {
      open.add(request.id);
      listing ??= list(request.params["_meta"], send).finally(() => listing = undefined);
      const listed = await listing;
      return open.delete(request.id) ? listed : undefined;
    },
    end: (why) => own.end(why),
  };
}
