/**
 * Helpers for optional fields. With `exactOptionalPropertyTypes`, a key whose value is `undefined`
 * differs from an absent key, and so does its JSON.
 *
 * @module
 */

/** The fields of `T`, each optional and without `undefined`. */
export type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns the fields that are not undefined: `{ id, ...defined({ reason }) }`. */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept: Defined<T> = {};
  for (const key in fields) {
    if (fields[key] !== undefined) {
      kept[key] = fields[key] as Exclude<typeof fields[typeof key], undefined>;
    }
  }
  return kept;
}
