/**
 * How many requests of one owner are answered at the same time. An answer may take as long as the
 * disk or the sending half does; without a share of one's own, whoever sends a thousand presses
 * holds every place there is, and everybody else is told to come again. Who it is stands in the
 * body, so the share begins where that was read.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Activity } from "core/teamchat/activity.ts";

/** Places, by owner. */
export interface OwnerPlaces {
  /**
   * Takes one; false when all of the owner's are taken. Each taken one is given back by `leave`.
   */
  enter(owner: string): boolean;
  leave(owner: string): void;
}

/** Makes them, all free. */
export function createOwnerPlaces(): OwnerPlaces {
  const taken = new Map<string, number>();
  return {
    enter: (owner) => {
      const count = taken.get(owner) ?? 0;
      if (count >= TEAMCHAT_LIMITS.ownerRequestsAtOnceMax) return false;
      taken.set(owner, count + 1);
      return true;
    },
    leave: (owner) => {
      const left = (taken.get(owner) ?? 0) - 1;
      if (left > 0) taken.set(owner, left);
      else taken.delete(owner);
    },
  };
}

/** Whose places an activity takes; all who have no object id share one name. */
export function placeOwner({ from }: Pick<Activity, "from">): string {
  return from?.aadObjectId?.toLowerCase() ?? "";
}
