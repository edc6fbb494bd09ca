/**
 * The URL and the headers of an MCP that is reached by URL, from its manifest. `{KEY}` stands for a
 * key of the agent. If a key has no value, the refusal names it; `{KEY}` itself is never sent. No
 * I/O.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import type { KeyName } from "core/names.ts";
import type { HttpEndpoint } from "core/ports/mcp_client.ts";
import { err, ok, type Result } from "core/result.ts";
import type { FieldReader } from "core/text/field_reader.ts";

/** An endpoint before its keys are filled in; contains no secret. */
export interface EndpointTemplate {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Keys that are not required: a header that uses one without a value is left out. */
  readonly optional: readonly string[];
}

const PLACEHOLDER = /\{([A-Z][A-Z0-9_]*)\}/g;
const HEADER_NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;
/** Printable ASCII, which every HTTP program reads the same way (RFC 9110, 5.5). */
const HEADER_VALUE = /^[\x20-\x7e]*$/;
const HEADERS_MAX = 16;
/** Headers that the protocol or the connection sets itself. */
const RESERVED =
  /^(mcp-.*|host|content-.*|accept.*|connection|transfer-.*|te|trailer|upgrade|cookie|origin|referer|sec-.*|proxy-.*|last-event-id)$/i;

/** Returns the endpoint of a manifest; undefined if the MCP is not reached by URL. */
export function endpointOf(manifest: Manifest): EndpointTemplate | undefined {
  const { source, headers, optionalEnv } = manifest;
  return source.kind === "http" ? { url: source.url, headers, optional: optionalEnv } : undefined;
}

/** Reads `headers` of a manifest. */
export function readHeaders(
  read: FieldReader,
  declared: readonly KeyName[],
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  const entries = read.entries(["headers"]);
  if (entries.length > HEADERS_MAX) read.fault(["headers"], `has more than ${HEADERS_MAX} entries`);
  for (const [name] of entries) {
    const path = ["headers", name];
    if (!HEADER_NAME.test(name) || RESERVED.test(name)) {
      read.fault(path, "is not a header that a manifest may set");
    }
    const value = read.string(path, (text) => {
      if (text.trim() === "" || !HEADER_VALUE.test(text)) return "must be printable ASCII";
      const unknown = [...text.matchAll(/\{([^{}]*)\}/g)]
        .find(([, key = ""]) => !(declared as readonly string[]).includes(key));
      return unknown === undefined
        ? undefined
        : `contains ${unknown[0]}, must declare the key in required_env, user_env or optional_env`;
    });
    if (value !== undefined) headers[name] = value;
    else if (!read.has(path)) read.fault(path, "is empty, must be a string");
  }
  return headers;
}

/** Fills in the keys; refuses a missing key, or a value that a header cannot carry. */
export function fillEndpoint(
  mcp: string,
  template: EndpointTemplate,
  valueOf: (key: string) => string | undefined,
): Result<HttpEndpoint> {
  const missing = new Set<string>();
  const secrets = new Set<string>();
  const isOptional = (key: string) => template.optional.includes(key);
  const fill = (text: string, encode: (value: string) => string) =>
    text.replace(PLACEHOLDER, (_, key: string) => {
      const value = valueOf(key) ?? "";
      if (value === "" && !isOptional(key)) missing.add(key);
      if (value !== "") secrets.add(value).add(encode(value));
      return encode(value);
    });
  const url = fill(template.url, encodeURIComponent);
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(template.headers)) {
    const lacks = [...text.matchAll(PLACEHOLDER)].some(([, key = ""]) =>
      isOptional(key) && (valueOf(key) ?? "") === ""
    );
    if (!lacks) headers[name] = fill(text, String);
  }
  if (missing.size > 0) return err(keysMissing(mcp, [...missing]));
  const bad = Object.entries(headers).find(([, value]) => !HEADER_VALUE.test(value));
  return bad === undefined ? ok({ url, headers, secrets: [...secrets] }) : err(refusal(
    "mcp-key-unusable",
    `Cannot reach MCP "${mcp}": the key in its header "${bad[0]}" has characters that a ` +
      "header must not contain, must be printable ASCII",
  ));
}

function keysMissing(mcp: string, keys: readonly string[]) {
  return refusal(
    "mcp-key-missing",
    `Cannot reach MCP "${mcp}": ${keys.join(", ")} ${keys.length === 1 ? "is" : "are"} not set`,
    { hints: keys.map((key) => `fleetctl secret set ${key} --agent self`) },
  );
}
