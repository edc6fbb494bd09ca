/**
 * What the command palette finds. Pure.
 *
 * @module
 */

/** One line of the palette. */
export interface PaletteItem {
  readonly id: string;
  /** What is shown and searched. */
  readonly words: string;
  /** Said beside it; searched too. */
  readonly note: string;
  readonly run: () => void;
}

/** Finds the lines that hold every word of the query; those whose own words begin so come first. */
export function findItems<Item extends Pick<PaletteItem, "words" | "note">>(
  items: readonly Item[],
  query: string,
): readonly Item[] {
  const wanted = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rank = ({ words }: Item) => words.toLowerCase().startsWith(wanted[0] ?? "") ? 0 : 1;
  return items
    .filter(({ words, note }) => {
      const text = `${words} ${note}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    })
    // Sorting is stable: what is equally good stays in its order.
    .toSorted((one, other) => rank(one) - rank(other));
}

/** The place after a step up or down; the ends are joined. */
export function stepTo(at: number, by: 1 | -1, count: number): number {
  return count === 0 ? 0 : (at + by + count) % count;
}
