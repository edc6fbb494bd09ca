/**
 * Words of an answer that come before the start of its turn is on the disk: the start
 * is stored, the words are not, so they overtake it. Bounded; what does not fit is
 * shown with the whole message.
 *
 * @module
 */

/** A piece of a message, as `ShownText` takes it. */
export type Piece = readonly [messageId: string, text: string, offset: number | undefined];

/** Pieces by turn. */
export interface EarlyPieces {
  keep(turnId: string, piece: Piece): void;
  /** The pieces of a turn, in order; they are forgotten here. */
  take(turnId: string): readonly Piece[];
}

const TURNS_MAX = 256;
const LENGTH_MAX = 16_384;

/** Makes an empty collection. */
export function createEarlyPieces(): EarlyPieces {
  const turns = new Map<string, { readonly pieces: Piece[]; length: number }>();
  return {
    keep: (turnId, piece) => {
      const early = turns.get(turnId) ?? { pieces: [], length: 0 };
      // An empty piece costs as well.
      early.length += piece[1].length + 1;
      if (early.length > LENGTH_MAX) return;
      early.pieces.push(piece);
      turns.set(turnId, early);
      const [oldest] = turns.keys();
      if (turns.size > TURNS_MAX && oldest !== undefined) turns.delete(oldest);
    },
    take: (turnId) => {
      const early = turns.get(turnId);
      turns.delete(turnId);
      return early?.pieces ?? [];
    },
  };
}
