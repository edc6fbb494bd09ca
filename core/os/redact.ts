/**
 * Removes secrets from log fields, by the name of the field and by the pattern of the text. A
 * safety net only: callers must not log secrets. Never throws, for any input. The rule: a log never
 * contains a secret, token, code or cookie.
 *
 * @module
 */

/** Replacement for a removed value. */
const REDACTED = "[redacted]";

const TEXT_LENGTH_MAX = 4_096;
const ITEMS_MAX = 100;
const DEPTH_MAX = 6;

/** Parts of a field name that mark its value as secret. */
const SECRET_NAME =
  /token|secret|passw(or)?d|passphrase|authorization|cookie|credential|assertion|signature|hmac/;
/** Names that end in `key` contain key material, except these names of keys and public keys. */
const KEY_NAME = /key(_?value)?s?$/;
const HARMLESS_KEY_NAME = /^(key|keys|mcp_?keys?|public_?key|.*_?public_?key)$/;
/** `Authorization` values, and user information in URLs, within longer texts. */
const SCHEME = /\b(Bearer|Basic|Negotiate)\s+[A-Za-z0-9._~+/=-]{6,}/gi;
const USER_INFORMATION = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;
const QUERY_SECRET = /([?&;](?:[a-z_-]*(?:token|secret|password|signature|code|key))=)[^&#\s"']+/gi;

/**
 * Cache of checked field names. The names of fleetctl's fields are few and recur. Names from other
 * objects can fill the cache; further names are then checked each time.
 */
const KNOWN_NAMES = new Map<string, boolean>();
const KNOWN_NAMES_MAX = 256;

/** Tells whether a field of this name may contain a secret. */
export function isSecretName(name: string): boolean {
  const known = KNOWN_NAMES.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const isSecret = SECRET_NAME.test(lower) ||
    (KEY_NAME.test(lower) && !HARMLESS_KEY_NAME.test(lower));
  if (KNOWN_NAMES.size < KNOWN_NAMES_MAX) KNOWN_NAMES.set(name, isSecret);
  return isSecret;
}

/** Returns a copy that is safe to print as JSON: redacted, bounded, without cycles. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactRecord(fields, new Set(), 0);
}

function redactRecord(
  record: object,
  above: Set<object>,
  depth: number,
): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  let count = 0;
  for (const [name, value] of Object.entries(record)) {
    if (value === undefined) continue;
    if (++count > ITEMS_MAX) {
      safe["more"] = `${Object.keys(record).length - ITEMS_MAX} fields left out`;
      break;
    }
    safe[name] = isSecretName(name) && isRevealing(value) ? REDACTED : redact(value, above, depth);
  }
  return safe;
}

/** Numbers, booleans and null reveal nothing: `tokens: 812`, `has_secret: true`. */
function isRevealing(value: unknown): boolean {
  return !(typeof value === "number" || typeof value === "boolean" || value === null);
}

function redact(value: unknown, above: Set<object>, depth: number): unknown {
  if (typeof value === "string") return redactText(value);
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object" || value === null) return value;
  if (above.has(value)) return "[circular]";
  if (depth >= DEPTH_MAX) return "[deep]";
  above.add(value);
  try {
    return redactObject(value, above, depth + 1);
  } catch {
    // A throwing getter must not lose the log line.
    return "[unreadable]";
  } finally {
    above.delete(value);
  }
}

function redactObject(value: object, above: Set<object>, depth: number): unknown {
  if (value instanceof Error) return redactError(value, above, depth);
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  }
  if (value instanceof URL) return redactText(value.href);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((item) => redact(item, above, depth));
    return value.length > ITEMS_MAX ? [...items, `${value.length - ITEMS_MAX} more`] : items;
  }
  if (value instanceof Map || value instanceof Set) {
    return redact([...value.keys()], above, depth);
  }
  return redactRecord(value, above, depth);
}

function redactError(error: Error, above: Set<object>, depth: number): Record<string, unknown> {
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: redactText(error.message),
    ...(typeof code === "string" ? { code } : {}),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, above, depth) }),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
  };
}

/** Quick pre-check: each of the patterns below needs one of these. */
const SUSPECT = /[\s=]|:\/\//;

function redactText(text: string): string {
  const safe = !SUSPECT.test(text) ? text : text
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(USER_INFORMATION, `$1${REDACTED}@`)
    .replace(QUERY_SECRET, `$1${REDACTED}`);
  return safe.length > TEXT_LENGTH_MAX
    ? `${safe.slice(0, TEXT_LENGTH_MAX)}… (${safe.length - TEXT_LENGTH_MAX} more)`
    : safe;
}
