/**
 * Limits of images between people, programs and models. Each name has its unit, and each comment
 * its reason.
 *
 * @module
 */

const MIB = 1024 * 1024;

/** Images in turns. */
export const IMAGE_LIMITS = {
  /** Size of an image. In base64 it has 5 MiB, the most that model endpoints accept. */
  bytesMax: 15 * MIB / 4,
  /** Width and height. Model endpoints refuse more, and a viewer would need gigabytes. */
  sidePixelsMax: 8_000,
  /** Images of one message that the model sees; it gets the paths of further ones. */
  perMessageMax: 4,
  /** Their size together. In base64 they fit in one message of a runtime. */
  messageBytesMax: 10 * MIB,
  /** Images that programs and tools produce in one turn; notices report further ones. */
  producedPerTurnMax: 32,
} as const;
