/**
 * Tries an endpoint before its key is stored. The first request is free: it reads the model at a
 * provider, or the list of models at any other endpoint. An endpoint without such a list gets a
 * request for as few tokens as its API allows.
 *
 * Building and judging requests is pure; `checkModel` sends them. Only model names from the answer
 * are repeated, and redirects are not followed, so a check reveals nothing about other services of
 * the network.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { readText } from "core/net/bounded_body.ts";
import { quoteShell } from "core/text/quote.ts";
import { refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { err, ok, type Result } from "core/result.ts";
import { type DecidedModel, isVendorAddress } from "core/runtimes/model_choice.ts";

/** Time limit for one answer of an endpoint. */
const CHECK_MS_MAX = 15_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Number of models that a refusal names. */
const NAMED_MODELS_MAX = 8;
const ANTHROPIC_VERSION = "2023-06-01";
/** Statuses of an endpoint without a list of models. */
const NO_LIST = new Set([404, 405, 501]);

/** One request. */
export interface CheckRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

type Checked = Pick<DecidedModel, "provider" | "model" | "baseUrl" | "key">;

/** Returns the first request: one model of a provider, or the list of any other endpoint. */
export function listRequest(of: Checked): CheckRequest {
  const { provider, model = "", baseUrl = "" } = of;
  const isCompatible = provider === "openai-compatible";
  return {
    method: "GET",
    url: isCompatible ? `${baseUrl}/models` : `${baseUrl}/models/${encodeURIComponent(model)}`,
    headers: { accept: "application/json", ...keyHeaders(of) },
  };
}

/**
 * For each provider API: the path that creates an answer, and the body that requests the fewest
 * tokens.
 */
const QUESTIONS = {
  anthropic: { path: "messages", limit: "max_tokens", tokens: 1, input: "messages" },
  openai: { path: "responses", limit: "max_output_tokens", tokens: 16, input: "input" },
  "openai-compatible": {
    path: "chat/completions",
    limit: "max_tokens",
    tokens: 1,
    input: "messages",
  },
} as const;

/** Returns the request for endpoints without a list: an answer of the fewest tokens. */
export function tokenRequest(of: Checked): CheckRequest {
  const { model, baseUrl = "", provider } = of;
  const { path, limit, tokens, input } =
    QUESTIONS[provider === "demo" ? "openai-compatible" : provider];
  return {
    method: "POST",
    url: `${baseUrl}/${path}`,
    headers: {
      accept: "application/json",
      "content-type": "application/json",
      ...keyHeaders(of),
    },
    body: JSON.stringify({
      model,
      [limit]: tokens,
      [input]: [{ role: "user", content: "Say yes." }],
    }),
  };
}

function isVendors({ provider, baseUrl }: Checked): boolean {
  return isVendorAddress(provider, baseUrl ?? null);
}

function keyHeaders({ provider, key }: Checked): Readonly<Record<string, string>> {
  if (provider === "anthropic") {
    return { "anthropic-version": ANTHROPIC_VERSION, "x-api-key": key ?? "" };
  }
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

/** Judges the answer. Returns undefined when the endpoint has no list. */
export function judgeList(
  of: Checked,
  answer: { readonly status: number; readonly body: string },
): Result<void> | undefined {
  const isCompatible = of.provider === "openai-compatible";
  // Vendors always serve a list. Other endpoints with the same API may not.
  if (!isVendors(of) && NO_LIST.has(answer.status)) return undefined;
  const judged = judgeStatus(of, answer.status);
  if (!judged.ok || !isCompatible) return judged;
  const names = modelNames(answer.body);
  if (names === undefined) return err(noEndpoint(of));
  if (names.length === 0 || names.includes(of.model ?? "")) return ok(undefined);
  const shown = names.slice(0, NAMED_MODELS_MAX).join(", ");
  const rest = names.length > NAMED_MODELS_MAX
    ? ` and ${names.length - NAMED_MODELS_MAX} more`
    : "";
  return err(modelUnknown(of, [`model: is none of the endpoint's: ${shown}${rest}`]));
}

/** Judges an answer by its status only. */
export function judgeStatus(of: Checked, status: number): Result<void> {
  const at = of.baseUrl ?? "";
  if (status >= 200 && status < 300) return ok(undefined);
  if (status === 401 || status === 403) {
    return err(refusal(
      "model-unauthorized",
      of.key === undefined
        ? `Cannot connect the model: "${at}" wants a key (status ${status})`
        : `Cannot connect the model: "${at}" does not accept the key (status ${status})`,
      { details: [of.key === undefined ? "key: is empty" : "key: is not accepted"] },
    ));
  }
  if (status === 404) return err(modelUnknown(of, []));
  if (status === 429 || status === 402) {
    return err(refusal(
      "model-quota-exhausted",
      `Cannot connect the model: the rate limit or quota of this key at "${at}" is ` +
        `exhausted (status ${status})`,
    ));
  }
  return status >= 500
    ? err(refusal(
      "model-overloaded",
      `Cannot connect the model: "${at}" fails (status ${status}), must answer`,
    ))
    : err(noEndpoint(of, status));
}

function modelUnknown(of: Checked, details: readonly string[]) {
  return refusal(
    "model-not-found",
    `Cannot connect the model: "${of.baseUrl}" has no model "${of.model}"`,
    { details: details.length > 0 ? details : ["model: is not known there"] },
  );
}

function noEndpoint(of: Checked, status?: number) {
  const found = status === undefined ? "something other than a list of models" : `status ${status}`;
  return refusal(
    "model-garbage",
    `Cannot connect the model: "${of.baseUrl}" answers with ${found}, must be a model endpoint`,
    { details: isVendors(of) ? [] : ["base_url: is no model endpoint"] },
  );
}

/** Returns the names in `{data: [{id}]}`; undefined for any other document. */
export function modelNames(body: string): readonly string[] | undefined {
  try {
    const { data } = JSON.parse(body) as { readonly data?: unknown };
    if (!Array.isArray(data)) return undefined;
    // Names are printed and pasted, so unprintable ones are dropped.
    return data.map((one) => String(one?.id ?? "")).filter((id) => /^[\x21-\x7e]{1,200}$/.test(id));
  } catch {
    return undefined;
  }
}

/** Checks the model at the endpoint. */
export async function checkModel(
  ports: { readonly http: HttpClient; readonly clock: Pick<Clock, "after"> },
  of: Checked,
): Promise<Result<void>> {
  if (of.provider === "demo") return ok(undefined);
  const list = await askEndpoint(ports, listRequest(of));
  if (list === undefined) return err(unreachable(of));
  const judged = judgeList(of, list);
  if (judged !== undefined) return judged;
  const one = await askEndpoint(ports, tokenRequest(of));
  return one === undefined ? err(unreachable(of)) : judgeStatus(of, one.status);
}

/** Sends one request. Returns undefined when it fails or gets no answer in time. */
export async function askEndpoint(
  ports: { readonly http: HttpClient; readonly clock: Pick<Clock, "after"> },
  request: CheckRequest,
  msMax: number = CHECK_MS_MAX,
): Promise<{ readonly status: number; readonly body: string } | undefined> {
  const late = new AbortController();
  const cancel = ports.clock.after(msMax, () => late.abort());
  try {
    const response = await ports.http.fetch(request.url, {
      method: request.method,
      headers: request.headers,
      redirect: "manual",
      signal: late.signal,
      ...defined({ body: request.body }),
    });
    const text = await readText(response.body, ANSWER_BYTES_MAX);
    return { status: response.status, body: text.ok ? text.value : "" };
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}

function unreachable(of: Checked) {
  return refusal(
    "model-unreachable",
    `Cannot connect the model: "${of.baseUrl}" does not answer, must be reachable from this host`,
    {
      details: isVendors(of) ? [] : ["base_url: does not answer"],
      hints: of.baseUrl === undefined ? [] : [`curl -sSI ${quoteShell(of.baseUrl)}`],
    },
  );
}
