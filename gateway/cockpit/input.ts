/**
 * Reads the input of a request within limits, by the schemas of its row. Reports every fault.
 *
 * @module
 */

import type { z } from "zod";
import { type Refusal, refusal } from "core/errors.ts";
import { readJson } from "core/net/bounded_body.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Route, RouteInput } from "gateway/cockpit/route.ts";

/** Parses query, headers and body of one request. */
export async function readInput(
  route: Route,
  request: Request,
): Promise<Result<RouteInput<unknown, unknown, unknown>>> {
  const faults: string[] = [];
  const body = route.body === undefined ? ok(undefined) : await readBody(request);
  if (!body.ok) return body;
  const check = (schema: z.ZodObject | undefined, place: string, value: unknown): unknown => {
    if (schema === undefined) return {};
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const { path, message } of parsed.error.issues) {
      faults.push(`${[place, ...path.map(String)].join(".")}: ${message}`);
    }
    return {};
  };
  const input = {
    query: check(route.query, "query", Object.fromEntries(new URL(request.url).searchParams)),
    headers: check(route.headers, "header", Object.fromEntries(request.headers)),
    body: check(route.body, "body", body.value),
  };
  if (faults.length === 0) return ok(input);
  return err(
    refusal("input-invalid", `Cannot read the request: ${faults.length} fields are invalid`, {
      kind: "usage",
      details: faults,
    }),
  );
}

async function readBody(request: Request): Promise<Result<unknown>> {
  const type = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    return err(
      refusal("body-not-json", "Cannot read the request: its body must be application/json", {
        kind: "usage",
      }),
    );
  }
  // The client disconnected or sent a malformed body: this is not a server error.
  const body = await readJson(request.body, STREAM_LIMITS.requestBodyBytesMax)
    .catch(() => err("broken" as const));
  return body.ok ? body : err(bodyRefusal(body.error));
}

function bodyRefusal(fault: "broken" | "too-large" | "malformed"): Refusal {
  const usage = { kind: "usage" } as const;
  switch (fault) {
    case "broken":
      return refusal("body-broken", "Cannot read the request: its body was incomplete", usage);
    case "too-large":
      return refusal(
        "body-too-large",
        "Cannot read the request: its body is too large, must be at most " +
          `${STREAM_LIMITS.requestBodyBytesMax} bytes`,
        usage,
      );
    case "malformed":
      return refusal("input-invalid", "Cannot read the request: its body is not JSON", usage);
  }
}
