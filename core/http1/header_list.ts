/**
 * The headers of one message as a short list, in order. It answers like `Headers` does and costs a
 * fraction of it: a proxy reads and writes headers more than anything else. Checks nothing; what comes
 * in was checked by a parser, what goes out is checked where it is written.
 *
 * @module
 */

/** Reading headers, as `Headers` and `HeaderList` do. Names in any case. */
export interface HeaderReader {
  /** All values of a name as one list; null when it is not there. */
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

  /** Makes a list of names and values in turn, as a parser gives them. */
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
      // Cookies of several lines are one list with its own separator (RFC 9113, 8.2.3).
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
