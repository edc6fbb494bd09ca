/**
 * The headers of one message as an ordered list, with the interface of `Headers` at a fraction of
 * its cost. Validates nothing: the parser checks received headers, the writer checks sent ones.
 *
 * @module
 */

/** Headers in the order of the message. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** Read access, as in `Headers` and `HeaderList`. Names are case-insensitive. */
export interface HeaderReader {
  /** All values of a name, joined; null if it is missing. */
  get(name: string): string | null;
  has(name: string): boolean;
}

/** Headers in order. */
export class HeaderList implements HeaderReader {
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /** Copies pairs. */
  constructor(pairs: Iterable<readonly [string, string]> = []) {
    for (const [name, value] of pairs) this.append(name, value);
  }

  /** Creates a list from alternating names and values, as a parser returns them. */
  static ofRaw(raw: readonly string[]): HeaderList {
    const list = new HeaderList();
    for (let index = 0; index + 1 < raw.length; index += 2) {
      list.append(raw[index] ?? "", raw[index + 1] ?? "");
    }
    return list;
  }

  get(name: string): string | null {
    const wanted = name.toLowerCase();
    let found: string | null = null;
    for (let index = 0; index < this.#names.length; index++) {
      if (this.#names[index] !== wanted) continue;
      const value = this.#values[index] ?? "";
      // Several `Cookie` lines are joined with "; " (RFC 9113, 8.2.3).
      found = found === null ? value : `${found}${wanted === "cookie" ? "; " : ", "}${value}`;
    }
    return found;
  }

  has(name: string): boolean {
    return this.#names.includes(name.toLowerCase());
  }

  append(name: string, value: string): void {
    this.#names.push(name.toLowerCase());
    this.#values.push(value);
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  delete(name: string): void {
    const wanted = name.toLowerCase();
    for (let at = this.#names.indexOf(wanted); at !== -1; at = this.#names.indexOf(wanted)) {
      this.#names.splice(at, 1);
      this.#values.splice(at, 1);
    }
  }

  *[Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    for (let index = 0; index < this.#names.length; index++) {
      yield [this.#names[index] ?? "", this.#values[index] ?? ""];
    }
  }
}
