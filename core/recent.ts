/**
 * A small memory of what was worked out a short while ago: bounded, oldest out first. For values
 * that come out the same each time and cost more than a look-up. No clock: `nowMs` is passed in.
 *
 * @module
 */

/** The memory. */
export interface Recent<T> {
  get(key: string, nowMs: number): T | undefined;
  /** Keeps a value until `untilMs`. */
  keep(key: string, value: T, untilMs: number): void;
  forget(key: string): void;
  /** Forgets everything. */
  clear(): void;
}

/** Creates an empty memory for at most `max` values. */
export function createRecent<T>(max: number): Recent<T> {
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
