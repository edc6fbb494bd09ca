/**
 * The request with which a dial unit passes a message to the running turn of the built-in
 * runtime.
 *
 * @module
 */

import * as z from "zod";

/** The method of the request; ACP reserves names with an underscore for extensions. */
export const STEER_METHOD = "_fleetctl/steer";

/** The parameters of the request. */
export const steerRequest = z.object({
  sessionId: z.string(),
  /** The running turn. */
  turnId: z.string(),
  /** The turn that the message would otherwise be. */
  id: z.string().min(1).max(64),
  text: z.string(),
});
