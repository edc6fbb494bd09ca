/**
 * A small TTL cache: bounded, and the oldest entry is evicted first. For results that are
 * deterministic and cost more than a look-up. No clock: callers pass `nowMs`.
 *
 * @module
 */

/** A TTL cache. */
export interface TtlCache<T> {
  get(key: string, nowMs: number): T | undefined;
  /** Stores a value until `untilMs`. */
  keep(key: string, value: T, untilMs: number): void;
  forget(key: string): void;
  /** Removes all entries. */
  clear(): void;
}

/** Creates an empty cache for at most `max` values. */
export function createTtlCache<T>(max: number): TtlCache<T> {
  const kept = new Map<string, { readonly value: T; readonly untilMs: number }>();
  return {
    get: (key, nowMs) => {
      const found = kept.get(key);
      return found === undefined || found.untilMs <= nowMs ? undefined : found.value;
    },
    keep: (key, value, untilMs) => {
      kept.delete(key);
      const [oldest] = kept.keys();
      if (kept.size >= max && oldest !== undefined) kept.delete(oldest);
      kept.set(key, { value, untilMs });
    },
    forget: (key) => void kept.delete(key),
    clear: () => kept.clear(),
  };
}
