/**
 * Reads what a request carries, within bounds, by the schemas of its row; every fault is named.
 *
 * @module
 */

import type { z } from "zod";
import { refusal } from "core/errors.ts";
import { STREAM_LIMITS } from "core/limits.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Route, RouteInput } from "gateway/cockpit/route.ts";

/** Parses query, headers and body of one request. */
export async function readInput(
  route: Route,
  request: Request,
): Promise<Result<RouteInput<unknown, unknown, unknown>>> {
  const faults: string[] = [];
  const body = route.body === undefined ? ok(undefined) : await readJson(request);
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
    refusal("input-invalid", `Cannot read the request: ${faults.length} fields are unusable`, {
      kind: "usage",
      details: faults,
    }),
  );
}

async function readJson(request: Request): Promise<Result<unknown>> {
  const type = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    return err(
      refusal("body-not-json", "Cannot read the request: its body must be application/json", {
        kind: "usage",
      }),
    );
  }
  let text: string | undefined;
  try {
    text = await readText(request, STREAM_LIMITS.requestBodyBytesMax);
  } catch {
    // The client went away, or sent what is no body: nothing of ours failed.
    return err(refusal("body-broken", "Cannot read the request: its body broke off", {
      kind: "usage",
    }));
  }
  if (text === undefined) {
    return err(
      refusal(
        "body-too-large",
        "Cannot read the request: its body is too large, must be at most " +
          `${STREAM_LIMITS.requestBodyBytesMax} bytes`,
        { kind: "usage" },
      ),
    );
  }
  try {
    return ok(JSON.parse(text));
  } catch {
    return err(
      refusal("input-invalid", "Cannot read the request: its body is not JSON", { kind: "usage" }),
    );
  }
}

/** Reads the body; undefined as soon as it is longer than `bytesMax`, whatever its header says. */
async function readText(request: Request, bytesMax: number): Promise<string | undefined> {
  if (request.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
