/**
 * Definition of a route of the cockpit. The gate is a required field of the row, and a gate on
 * agents must state which agents. So a route without its check does not compile (law 6). Why: ADR
 * 0006.
 *
 * @module
 */

import type { z } from "zod";
import type { Gate } from "core/access/gates.ts";
import type { Owner, Viewer } from "core/access/viewer.ts";
import type { Result } from "core/result.ts";
import type { CockpitDeps } from "gateway/cockpit/deps.ts";

/** Context of a request besides the parsed input. */
export interface RouteContext {
  readonly deps: CockpitDeps;
  readonly viewer: Viewer;
  readonly request: Request;
  readonly requestId: string;
}

/** Parsed and limited input. */
export interface RouteInput<Query, Headers, Body> {
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
}

/** One kind of success, for the published description. */
export interface RouteAnswer {
  readonly status: number;
  readonly description: string;
  readonly mediaType: string;
  readonly schema?: z.ZodType;
}

type Schema = z.ZodObject;
type NoFields = Record<string, never>;
type Parsed<S> = S extends Schema ? z.infer<S> : NoFields;

/** The gate of a row. `allowAgent` requires the agents that a request concerns. */
export type RouteGate<Input> =
  | { readonly gate: Exclude<Gate, "allowAgent"> }
  | {
    readonly gate: "allowAgent";
    readonly agents: (input: Input, viewer: Owner) => readonly string[];
  };

/** One row of the table, as declared. */
export type RouteRow<
  Q extends Schema | undefined = undefined,
  H extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
> =
  & {
    readonly method: "GET" | "POST" | "PATCH";
    readonly path: string;
    readonly summary: string;
    readonly query?: Q;
    /** Header names in lowercase. */
    readonly headers?: H;
    readonly body?: B;
    readonly answers: readonly RouteAnswer[];
    readonly handle: (
      context: RouteContext,
      input: RouteInput<Parsed<Q>, Parsed<H>, Parsed<B>>,
    ) => Promise<Result<Response>>;
  }
  & RouteGate<RouteInput<Parsed<Q>, Parsed<H>, Parsed<B>>>;

/** A row with its types erased, as the application mounts it; schemas are checked at run time. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly summary: string;
  readonly gate: Gate;
  readonly query: Schema | undefined;
  readonly headers: Schema | undefined;
  readonly body: Schema | undefined;
  readonly answers: readonly RouteAnswer[];
  readonly agents: (
    input: RouteInput<unknown, unknown, unknown>,
    viewer: Owner,
  ) => readonly string[];
  readonly handle: (
    context: RouteContext,
    input: RouteInput<unknown, unknown, unknown>,
  ) => Promise<Result<Response>>;
}

/** Creates a route from a row; inside the row, the types of its schemas apply. */
export function route<
  Q extends Schema | undefined = undefined,
  H extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(row: RouteRow<Q, H, B>): Route {
  return {
    method: row.method,
    path: row.path,
    summary: row.summary,
    gate: row.gate,
    query: row.query,
    headers: row.headers,
    body: row.body,
    answers: row.answers,
    // The cast is safe: the application parses with the row's schemas, so the input has their
    // types.
    agents: (row.gate === "allowAgent" ? row.agents : () => []) as Route["agents"],
    handle: row.handle as Route["handle"],
  };
}
