/**
 * Limits the concurrent requests of each owner. A response may take as long as the disk or the
 * sender. Without a limit per owner, one person with a thousand presses would use up all capacity.
 * The owner is known from the body, so the limit applies after the body was read.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Activity } from "core/teamchat/activity.ts";

/** Concurrency slots by owner. */
export interface OwnerSlots {
  /** Takes a slot. Returns false when all of the owner's are in use. `leave` releases one. */
  enter(owner: string): boolean;
  leave(owner: string): void;
}

/** Creates them, all free. */
export function createOwnerSlots(): OwnerSlots {
  const counts = new Map<string, number>();
  return {
    enter: (owner) => {
      const count = counts.get(owner) ?? 0;
      if (count >= TEAMCHAT_LIMITS.concurrentRequestsPerOwnerMax) return false;
      counts.set(owner, count + 1);
      return true;
    },
    leave: (owner) => {
      const left = (counts.get(owner) ?? 0) - 1;
      if (left > 0) counts.set(owner, left);
      else counts.delete(owner);
    },
  };
}

/** Whose slots an activity uses; all people without an object id share one name. */
export function slotOwner({ from }: Pick<Activity, "from">): string {
  return from?.aadObjectId?.toLowerCase() ?? "";
}
