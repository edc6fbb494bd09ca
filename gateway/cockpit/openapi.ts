/**
 * Publishes the route table as OpenAPI 3.1. No I/O. It is generated from the rows, so it always
 * matches what is served.
 *
 * @module
 */

import * as z from "zod";
import { PROBLEM_TYPE } from "gateway/cockpit/deny.ts";
import type { Route, RouteAnswer } from "gateway/cockpit/route.ts";

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  code: z.string(),
  detail: z.string(),
  errors: z.array(z.string()).optional(),
  hints: z.array(z.string()).optional(),
});

/** Describes routes. */
export function describeRoutes(routes: readonly Route[], version: string) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    item[route.method.toLowerCase()] = describeRoute(route);
    paths[route.path] = item;
  }
  return {
    openapi: "3.1.0",
    info: { title: "fleetctl cockpit", version },
    paths,
    components: { schemas: { Problem: schemaOf(problemSchema) } },
  };
}

function describeRoute(route: Route) {
  return {
    summary: route.summary,
    "x-fleetctl-gate": route.gate,
    parameters: [
      ...describeFields(route.query, "query"),
      ...describeFields(route.headers, "header"),
    ],
    ...(route.body === undefined ? {} : {
      requestBody: {
        required: true,
        content: { "application/json": { schema: schemaOf(route.body) } },
      },
    }),
    responses: { ...describeAnswers(route.answers), default: PROBLEM_ANSWER },
  };
}

const PROBLEM_ANSWER = {
  description: "A problem (RFC 9457)",
  content: { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
};

function describeAnswers(answers: readonly RouteAnswer[]) {
  const responses: Record<string, { description: string; content: Record<string, unknown> }> = {};
  for (const { status, description, mediaType, schema } of answers) {
    const response = responses[status] ?? { description, content: {} };
    response.content[mediaType] = schema === undefined ? {} : { schema: schemaOf(schema) };
    responses[status] = response;
  }
  return responses;
}

function describeFields(schema: z.ZodObject | undefined, place: "query" | "header") {
  if (schema === undefined) return [];
  const described = schemaOf(schema) as {
    readonly properties?: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
  return Object.entries(described.properties ?? {}).map(([name, field]) => ({
    name,
    in: place,
    required: described.required?.includes(name) ?? false,
    schema: field,
  }));
}

function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return rest;
}
