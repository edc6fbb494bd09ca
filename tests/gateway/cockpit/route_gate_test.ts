/**
 * Law 6: a route row without a gate does not compile. Each `@ts-expect-error` below is a test: the
 * type checker fails this file if the line after it compiles.
 *
 * @module
 */

import assert from "node:assert/strict";
import * as z from "zod";
import { ok } from "core/result.ts";
import { route } from "gateway/cockpit/route.ts";
import { ROUTES } from "gateway/cockpit/table.ts";

const rest = {
  method: "GET",
  path: "/x",
  summary: "x",
  answers: [],
  handle: () => Promise.resolve(ok(new Response())),
} as const;

Deno.test("route() accepts a row with a gate", () => {
  assert.equal(route({ ...rest, gate: "viewer" }).gate, "viewer");
  assert.equal(route({ ...rest, gate: "allowAgent", agents: () => ["mia"] }).gate, "allowAgent");
});

Deno.test("route() does not compile without a gate, or with one that does not exist", () => {
  // @ts-expect-error a row must name its gate
  const none = () => route({ ...rest });
  // @ts-expect-error the gate must be one of GATES
  const unknown = () => route({ ...rest, gate: "anybody" });
  // @ts-expect-error allowAgent must say which agents a request is about
  const noAgents = () => route({ ...rest, gate: "allowAgent" });
  const wrongField = () =>
    route({
      ...rest,
      query: z.object({ agent: z.string() }),
      gate: "allowAgent",
      // @ts-expect-error the agents come from the row's own input
      agents: ({ query }) => [query.name],
    });
  assert.equal([none, unknown, noAgents, wrongField].length, 4);
});

Deno.test("every route that changes something is behind a gate", () => {
  const open = ROUTES.filter((row) => row.method !== "GET" && row.gate === "open");
  assert.deepEqual(open.map((row) => row.path), []);
});
