/**
 * What a route of the cockpit is. The gate is a required field of the row, and the gate that looks
 * at agents cannot be named without saying which: a route without its check does not compile
 * (law 6). Why: ADR 0006.
 *
 * @module
 */

import type { z } from "zod";
import type { Gate } from "core/access/gates.ts";
import type { Viewer } from "core/access/viewer.ts";
import type { Result } from "core/result.ts";
import type { CockpitParts } from "gateway/cockpit/parts.ts";

/** A viewer that is somebody. */
export type Owner = Extract<Viewer, { kind: "owner" }>;

/** What a handler knows of its request besides the parsed input. */
export interface RouteContext {
  readonly parts: CockpitParts;
  readonly viewer: Viewer;
  readonly request: Request;
  readonly requestId: string;
}

/** Parsed and bounded input. */
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

/** The gate of a row: `allowAgent` has to say which agents a request is about. */
export type RouteGate<Input> =
  | { readonly gate: Exclude<Gate, "allowAgent"> }
  | {
    readonly gate: "allowAgent";
    readonly agents: (input: Input, viewer: Owner) => readonly string[];
  };

/** One row as it is written down. */
export type RouteRow<
  Q extends Schema | undefined = undefined,
  H extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
> =
  & {
    readonly method: "GET" | "POST";
    readonly path: string;
    readonly summary: string;
    readonly query?: Q;
    /** Names in lowercase. */
    readonly headers?: H;
    readonly body?: B;
    readonly answers: readonly RouteAnswer[];
    readonly handle: (
      context: RouteContext,
      input: RouteInput<Parsed<Q>, Parsed<H>, Parsed<B>>,
    ) => Promise<Result<Response>>;
  }
  & RouteGate<RouteInput<Parsed<Q>, Parsed<H>, Parsed<B>>>;

/** A row whose schemas are checked at run time only; what the application mounts. */
export interface Route {
  readonly method: "GET" | "POST";
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

/** Makes a route of a row; the types of its schemas hold inside the row. */
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
    // The application parses with the row's own schemas, so that the input has the row's types.
    agents: (row.gate === "allowAgent" ? row.agents : () => []) as Route["agents"],
    handle: row.handle as Route["handle"],
  };
}
