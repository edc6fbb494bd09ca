/**
 * Search of the command palette. Pure.
 *
 * @module
 */

/** One entry of the palette. */
export interface PaletteItem {
  readonly id: string;
  /** Label; searched. */
  readonly words: string;
  /** Shown beside the label; also searched. */
  readonly note: string;
  readonly run: () => void;
}

/**
 * Finds the entries that contain every word of the query. Entries whose label begins with the
 * first word come first.
 */
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
    // Sorting is stable: entries of equal rank keep their order.
    .toSorted((one, other) => rank(one) - rank(other));
}

/** Returns the next index up or down; wraps around at both ends. */
export function stepTo(at: number, by: 1 | -1, count: number): number {
  return count === 0 ? 0 : (at + by + count) % count;
}
