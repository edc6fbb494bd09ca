/**
 * Sends one request through the connector's HTTP client, and prints the outcome.
 *
 * @module
 */

import { HttpCallFault } from "core/http1/http_call.ts";
import { systemClock } from "core/os/clock.ts";
import { systemHttp } from "core/os/http.ts";
import { createCalls } from "teamchat/reply/call.ts";

const call = createCalls(systemHttp(), systemClock());
const outcome = await call({
  method: "POST",
  url: Deno.args[0] ?? "",
  headers: { authorization: "Bearer secret" },
  body: "{}",
  answerBytesMax: 1_024,
  timeoutMs: 10_000,
}).then(
  ({ status, body }) => `${status} ${body}`,
  (thrown) => thrown instanceof HttpCallFault ? thrown.reason : String(thrown),
);
await Deno.stdout.write(new TextEncoder().encode(outcome));
Deno.exit(0);
