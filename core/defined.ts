/**
 * Optional fields of an object. With `exactOptionalPropertyTypes` a key that holds `undefined`
 * differs from a key that is absent, and so does its JSON.
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
