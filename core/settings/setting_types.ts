/**
 * The types of settings. Each parses the text of one environment variable. No I/O. A parser's error
 * may quote a part of the value, so `fault` omits it for a secret.
 *
 * @module
 */

import { parseDuration } from "core/text/duration.ts";
import { nameFault } from "core/names.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

/** How to parse one kind of value. */
export interface SettingType<T> {
  /** "must be …", for errors and help; undefined when every text is valid. */
  readonly wanted?: string;
  /**
   * Returns the value. The error is a specific reason, or "" when `wanted` explains it completely.
   */
  readonly parse: (text: string) => Result<T, string>;
}

/** Longest setting: `WEBVIEW_LEDGER` for a fleet of 5,000 agents is shorter. */
const TEXT_LENGTH_MAX = 1024 * 1024;
/** Number of characters of a bad value that an error shows. */
const SHOWN_LENGTH_MAX = 60;
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9]+)?\])$/;

/** Any text without control characters; tabs are allowed. */
export function text(): SettingType<string> {
  return {
    parse: (given) => {
      if (given.length > TEXT_LENGTH_MAX) return err("is too long");
      // deno-lint-ignore no-control-regex
      return /[\u0000-\u0008\u000a-\u001f\u007f]/.test(given)
        ? err("contains a control character")
        : ok(given);
    },
  };
}

/** As `text`, but may have several lines. */
export function lines(): SettingType<string> {
  return {
    parse: (given) => {
      const checked = text().parse(given.replaceAll("\n", " "));
      return checked.ok ? ok(given) : checked;
    },
  };
}

/** `host:port`; port 0 picks a free port. IPv6 addresses are in brackets. */
export function listenAddress(): SettingType<ListenAddress> {
  return {
    wanted: "must be host:port",
    parse: (given) => {
      const colon = given.lastIndexOf(":");
      const host = given.slice(0, colon);
      const port = given.slice(colon + 1);
      if (colon < 1 || !HOST.test(host) || !/^\d{1,5}$/.test(port) || Number(port) > 65535) {
        return err("");
      }
      return ok({ hostname: host.replace(/^\[|\]$/g, ""), port: Number(port) });
    },
  };
}

/** An absolute URL with one of the schemes, without user name and password. */
export function url(
  options: { readonly schemes?: readonly string[] } = {},
): SettingType<URL> {
  const schemes = options.schemes ?? ["https", "http"];
  return {
    wanted: `must be an ${schemes.join(" or ")} URL`,
    parse: (given) => {
      if (!URL.canParse(given)) return err("");
      const parsed = new URL(given);
      if (!schemes.includes(parsed.protocol.slice(0, -1)) || parsed.hostname === "") return err("");
      return parsed.username === "" && parsed.password === ""
        ? ok(parsed)
        : err("contains a user name or password");
    },
  };
}

/** A duration such as `30s`, `15m`, `1h30m` or `30d`, in milliseconds. */
export function duration(
  options: { readonly minMs?: number; readonly maxMs?: number } = {},
): SettingType<number> {
  return {
    wanted: "must be a duration such as 30s, 15m, 12h or 30d",
    parse: (given) => {
      const ms = parseDuration(given);
      if (!ms.ok) return err("");
      if (ms.value < (options.minMs ?? 1)) return err("is too short");
      return ms.value > (options.maxMs ?? Number.MAX_SAFE_INTEGER) ? err("is too long") : ms;
    },
  };
}

/** An integer within bounds. */
export function integer(min: number, max: number): SettingType<number> {
  return {
    wanted: `must be a whole number from ${min} to ${max}`,
    parse: (given) => {
      const value = Number(given);
      return /^-?\d{1,15}$/.test(given) && value >= min && value <= max ? ok(value) : err("");
    },
  };
}

/** `true`/`false`, in the spellings that env files use. */
export function flag(): SettingType<boolean> {
  return {
    wanted: "must be true or false",
    parse: (given) => {
      if (/^(?:1|true|yes|on)$/i.test(given)) return ok(true);
      return /^(?:0|false|no|off)$/i.test(given) ? ok(false) : err("");
    },
  };
}

/** One of several words. */
export function oneOf<const Word extends string>(words: readonly Word[]): SettingType<Word> {
  return {
    wanted: `must be ${words.map((word) => `"${word}"`).join(" or ")}`,
    parse: (given) => {
      const found = words.find((word) => word === given);
      return found === undefined ? err("") : ok(found);
    },
  };
}

/** Items separated by commas; surrounding spaces and empty items are dropped. */
export function list<T>(item: SettingType<T>): SettingType<readonly T[]> {
  return {
    wanted: "must be a list separated by commas",
    parse: (given) => collect(given.split(",").map((part) => part.trim()).filter(Boolean), item),
  };
}

/** A JSON list of strings, each checked by `item`. */
export function jsonList<T>(item: SettingType<T>): SettingType<readonly T[]> {
  return {
    wanted: "must be a JSON list of strings",
    parse: (given) => {
      const value = parseJson(given);
      const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
      return isList ? collect(value, item) : err("");
    },
  };
}

/**
 * A JSON object of strings, with each key and value checked. Returns a map, so that no key is
 * special.
 */
export function jsonMap<K, V>(
  key: SettingType<K>,
  value: SettingType<V>,
): SettingType<ReadonlyMap<K, V>> {
  return {
    wanted: "must be a JSON object of strings",
    parse: (given) => {
      const parsed = parseJson(given);
      if (!isRecord(parsed)) return err("");
      const map = new Map<K, V>();
      for (const [name, content] of Object.entries(parsed)) {
        if (typeof content !== "string") return err("");
        const left = key.parse(name);
        const right = value.parse(content);
        if (!left.ok) return err(`key ${shownText(name)} ${left.error || key.wanted}`);
        if (!right.ok) return err(`value of ${shownText(name)} ${right.error || value.wanted}`);
        if (map.has(left.value)) return err(`key ${shownText(name)} appears twice`);
        map.set(left.value, right.value);
      }
      return ok(map);
    },
  };
}

/** Builds a type from a `parseX` function of `core/names.ts`. */
export function parsed<T>(parse: (text: string) => Result<T>): SettingType<T> {
  return {
    parse: (given) => {
      const value = parse(given);
      return value.ok ? value : err(nameFault(parse, given) ?? "");
    },
  };
}

/** Describes the fault in a value. Quotes the value for ordinary settings, never for secrets. */
export function fault(
  setting: { readonly name: string; readonly isSecret: boolean; readonly wanted?: string },
  given: string,
  particular: string,
): string {
  const state = setting.isSecret ? "the value is unusable" : `value is ${shownText(given)}`;
  // The reason for a secret may quote parts of it (keys of a JSON object).
  const detail = particular === "" || setting.isSecret ? undefined : particular;
  const parts = [state, detail, setting.wanted].filter((part) => part !== undefined);
  return `${setting.name}: ${parts.join(", ")}`;
}

function shownText(given: string): string {
  return JSON.stringify(
    given.length > SHOWN_LENGTH_MAX ? `${given.slice(0, SHOWN_LENGTH_MAX)}…` : given,
  );
}

function collect<T>(parts: readonly string[], item: SettingType<T>): Result<readonly T[], string> {
  const values: T[] = [];
  for (const part of parts) {
    const value = item.parse(part);
    if (!value.ok) return err(`item ${shownText(part)} ${value.error || item.wanted || "is bad"}`);
    values.push(value.value);
  }
  return ok(values);
}

function parseJson(given: string): unknown {
  if (given.length > TEXT_LENGTH_MAX) return undefined;
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}
