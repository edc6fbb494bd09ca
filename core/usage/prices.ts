/**
 * Prices of models, and the costs that follow from them. The prices are data, not code:
 * `core/usage/prices.yaml`, overlaid by `/etc/fleetctl/prices.yaml`. A price is valid from its date
 * until the date of the next one. No cost is an estimate: tokens without a price have no cost, and
 * the result says so.
 *
 * @module
 */

import shippedYaml from "./prices.yaml" with { type: "text" };
import { defined } from "core/defined.ts";
import { errorText, refusal } from "core/errors.ts";
import { USAGE_LIMITS } from "core/limits/usage.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";
import { createFieldReader, type FieldReader } from "core/text/field_reader.ts";
import { parseYaml, type YamlPath } from "core/text/yaml.ts";

/** Tokens, grouped by how they are priced. Each token counts in one of the four fields. */
export interface TokenCounts {
  readonly input: number;
  readonly output: number;
  readonly cachedRead: number;
  readonly cachedWrite: number;
}

/** A price of one model: USD per million tokens. A kind of token may have none. */
export interface ModelPrice extends Readonly<Record<"input" | "output", number>> {
  /** First day of this price, as `YYYY-MM-DD` in UTC. */
  readonly from: string;
  readonly cachedRead?: number;
  readonly cachedWrite?: number;
}

/** The prices of one model. */
export interface ModelPrices {
  /** Where the prices are from. */
  readonly source: string;
  /** Longest prompt, in tokens, that these prices are for; a longer one costs more. */
  readonly promptTokensMax?: number;
  /** The newest price first. */
  readonly prices: readonly ModelPrice[];
}

/** Prices by model id. */
export type PriceTable = ReadonlyMap<string, ModelPrices>;

/** The cost of tokens of one model on one day. */
export interface Cost {
  readonly usd: number;
  /** Whether a kind of token in use has no price. */
  readonly lacksPrice: boolean;
  /** Whether a prompt may have been longer than those that the prices are for. */
  readonly mayBeLong: boolean;
}

/** Highest price that is accepted: a larger number is a mistake in the unit. */
const USD_PER_MILLION_MAX = 1_000_000;
const TOKENS_PER_PRICE = 1_000_000;
/**
 * What vendors and programs add to a model id, although the price stays the same: the vendor, the
 * date of a snapshot, and the size of the context window.
 */
const ID_ADDITIONS = /^(anthropic|openai)\/|(-\d{8}|-\d{4}-\d{2}-\d{2})?(\[1m\])?$/g;

/** Returns the prices that ship with the product. */
export function shippedPrices(): PriceTable {
  const parsed = parsePrices(shippedYaml, "prices.yaml");
  if (!parsed.ok) throw new Error(`${parsed.error.message}: ${parsed.error.details.join("; ")}`);
  return parsed.value;
}

/**
 * Reads the host's prices and overlays them on the shipped ones. A model in the host's file
 * replaces the shipped model. Refuses an unusable file, because the shipped prices could be wrong
 * for this host.
 */
export async function readPrices(files: Files, paths: Paths): Promise<Result<PriceTable>> {
  const text = await readPriceText(files, paths);
  return text.ok ? overlaidPrices(text.value, paths) : text;
}

async function readPriceText(
  files: Pick<Files, "readText">,
  { pricesFile: file }: Pick<Paths, "pricesFile">,
): Promise<Result<string | undefined>> {
  try {
    return ok(await files.readText(file));
  } catch (thrown) {
    return err(refusal("prices-unreadable", `Cannot read prices "${file}": ${errorText(thrown)}`));
  }
}

function overlaidPrices(
  text: string | undefined,
  { pricesFile }: Pick<Paths, "pricesFile">,
): Result<PriceTable> {
  if (text === undefined) return ok(shippedPrices());
  const own = parsePrices(text, pricesFile);
  return own.ok ? ok(new Map([...shippedPrices(), ...own.value])) : own;
}

/** Returns a function that reads the host's prices, and parses them only when they changed. */
export function createPriceReader(
  files: Pick<Files, "readText">,
  paths: Pick<Paths, "pricesFile">,
): () => Promise<Result<PriceTable>> {
  let known: { readonly text: string | undefined; readonly prices: Result<PriceTable> } | undefined;
  return async () => {
    const text = await readPriceText(files, paths);
    if (!text.ok) return text;
    if (known === undefined || known.text !== text.value) {
      known = { text: text.value, prices: overlaidPrices(text.value, paths) };
    }
    return known.prices;
  };
}

/** Parses a price table. Reports every fault with file, line and key. */
export function parsePrices(text: string, file: string): Result<PriceTable> {
  const parsed = parseYaml(text, file);
  if (!parsed.ok) return parsed;
  const reader = createFieldReader(parsed.value);
  reader.onlyKeys([], ["models"]);
  const table = new Map<string, ModelPrices>();
  for (const [model] of reader.entries(["models"])) {
    const prices = readModel(reader, model);
    if (prices !== undefined) table.set(model, prices);
  }
  if (reader.faults.length === 0) return ok(table);
  return err(
    refusal("prices-invalid", `Cannot use prices "${file}": ${faultCount(reader.faults)}`, {
      kind: "settings",
      details: reader.faults,
    }),
  );
}

function readModel(reader: FieldReader, model: string): ModelPrices | undefined {
  const at = ["models", model];
  reader.onlyKeys(at, ["source", "prompt_tokens_max", "prices"]);
  const source = reader.string([...at, "source"]);
  if (source === undefined) reader.fault(at, "has no source, must name where the prices are from");
  const promptTokensMax = reader.integer(
    [...at, "prompt_tokens_max"],
    [1, USAGE_LIMITS.tokensMax],
  );
  const prices: ModelPrice[] = [];
  const count = reader.count([...at, "prices"]);
  if (count === 0) reader.fault(at, "has no prices, must have one");
  for (let index = 0; index < count; index++) {
    const path = [...at, "prices", index];
    const price = readPrice(reader, path);
    if (price === undefined) continue;
    if (prices.some(({ from }) => from === price.from)) {
      reader.fault(path, `a price from ${price.from} appears twice`);
    }
    prices.push(price);
  }
  prices.sort((a, b) => a.from < b.from ? 1 : -1);
  return source === undefined ? undefined : { source, ...defined({ promptTokensMax }), prices };
}

function readPrice(reader: FieldReader, path: YamlPath): ModelPrice | undefined {
  reader.onlyKeys(path, ["from", "input", "output", "cached_read", "cached_write"]);
  const values = new Map(reader.entries(path));
  const number = (key: string, isRequired: boolean): number | undefined => {
    const value = values.get(key);
    if (value === undefined && !isRequired) return undefined;
    if (typeof value === "number" && value >= 0 && value <= USD_PER_MILLION_MAX) return value;
    const at = value === undefined ? path : [...path, key];
    const found = value === undefined ? `has no ${key}` : "is not a price";
    const wanted = `must be USD per million tokens, from 0 to ${USD_PER_MILLION_MAX}`;
    reader.fault(at, `${found}, ${wanted}`);
    return undefined;
  };
  const from = reader.string(
    [...path, "from"],
    (text) => isDate(text) ? undefined : "must be a date such as 2026-11-22",
  );
  if (!values.has("from")) reader.fault(path, "has no from, must be a date such as 2026-11-22");
  const [input, output] = [number("input", true), number("output", true)];
  const cachedRead = number("cached_read", false);
  const cachedWrite = number("cached_write", false);
  if (from === undefined || input === undefined || output === undefined) return undefined;
  return { from, input, output, ...defined({ cachedRead, cachedWrite }) };
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/**
 * Returns the cost of tokens of a model on a day (`YYYY-MM-DD`), or undefined when the model has no
 * price for that day. `largestInput` is at least as long as the longest prompt.
 */
export function costOf(
  table: PriceTable,
  of: {
    readonly model: string;
    readonly day: string;
    readonly tokens: TokenCounts;
    readonly largestInput: number;
  },
): Cost | undefined {
  const { model, day, tokens, largestInput } = of;
  const prices = table.get(model) ?? table.get(model.replaceAll(ID_ADDITIONS, ""));
  const price = prices?.prices.find(({ from }) => from <= day);
  if (prices === undefined || price === undefined) return undefined;
  const { promptTokensMax = Infinity } = prices;
  let usd = 0;
  let lacksPrice = false;
  for (const kind of ["input", "output", "cachedRead", "cachedWrite"] as const) {
    const rate = price[kind];
    if (rate === undefined) lacksPrice ||= tokens[kind] > 0;
    else usd += tokens[kind] * rate / TOKENS_PER_PRICE;
  }
  return { usd, lacksPrice, mayBeLong: largestInput > promptTokensMax };
}
