/**
 * Pieces of an answer that arrive before the start of its turn is on disk: the start is stored,
 * the pieces are not, so they overtake it. Limited in size; pieces beyond the limit appear with
 * the whole message.
 *
 * @module
 */

/** A piece of a message, in the order of the parameters of `ShownText.delta`. */
export type Piece = readonly [messageId: string, text: string, offset: number | undefined];

/** Pieces by turn. */
export interface EarlyPieces {
  keep(turnId: string, piece: Piece): void;
  /** Returns the pieces of a turn, in order, and removes them. */
  take(turnId: string): readonly Piece[];
}

const TURNS_MAX = 256;
const LENGTH_MAX = 16_384;

/** Creates an empty collection. */
export function createEarlyPieces(): EarlyPieces {
  const turns = new Map<string, { readonly pieces: Piece[]; length: number }>();
  return {
    keep: (turnId, piece) => {
      const early = turns.get(turnId) ?? { pieces: [], length: 0 };
      // An empty piece also uses memory.
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
