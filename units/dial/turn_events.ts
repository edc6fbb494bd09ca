/**
 * Records what a runtime reports during a turn: previews are passed on, everything else becomes an
 * event.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { PreviewEvent } from "core/dial/event.ts";
import type { Clock } from "core/ports/clock.ts";
import { imageId } from "units/dial/progress_table.ts";
import type { Recorder } from "units/dial/recorder.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { endOfSteered } from "units/dial/steering.ts";
import type { DialStore } from "units/dial/store.ts";
import { lostImage, type TurnImages } from "units/dial/turn_images.ts";
import { draftOf } from "units/dial/update_draft.ts";

/** Records the events of turns. */
export interface TurnEvents {
  /**
   * Passes on a preview or records an event. The runtime is not read from until this is done.
   * `offsets` has the length of each message that is not complete.
   */
  take(turnId: string, update: RuntimeUpdate, offsets: Map<string, number>): Promise<void>;
  note(turnId: string, text: string): Promise<void>;
}

/** Creates the recording of one runner. */
export function createTurnEvents({ store, recorder, clock, images, onPreview }: {
  readonly store: Pick<DialStore, "stateOf">;
  readonly recorder: Recorder;
  readonly clock: Pick<Clock, "now">;
  readonly images: Pick<TurnImages, "keep">;
  readonly onPreview: (event: PreviewEvent) => void;
}): TurnEvents {
  const note = async (turnId: string, text: string) => {
    await recorder.record([{ at: clock.now(), turnId, kind: "notice", payload: { text } }]);
  };

  /** Stores an image, then records it or why it is lost. */
  async function keepImage(
    turnId: string,
    update: Extract<RuntimeUpdate, { kind: "image" }>,
  ): Promise<void> {
    const { callId, image } = update;
    const kept = await images.keep(turnId, image);
    const event = typeof kept === "string"
      ? { kind: "notice", payload: { text: lostImage(image, kept) } }
      : { kind: "attachment", payload: { ...kept, ...defined({ call_id: callId }) } };
    await recorder.record([{ at: clock.now(), turnId, imageId: imageId(update), ...event }]);
  }

  return {
    note,
    take: async (turnId, update, offsets) => {
      if (update.kind === "text_delta") {
        const { messageId, text } = update;
        const offset = offsets.get(messageId) ?? 0;
        offsets.set(messageId, offset + text.length);
        const payload = { message_id: messageId, text, offset };
        return onPreview({ turn_id: turnId, kind: "text_delta", payload });
      }
      if (update.kind === "message") offsets.delete(update.messageId);
      if (update.kind === "image") return await keepImage(turnId, update);
      const at = clock.now();
      const drafts = [{ at, turnId, ...draftOf(update) }];
      if (update.kind !== "steered") return await recorder.record(drafts);
      const end = endOfSteered(store, update.messageId, at);
      await recorder.record([...drafts, ...end === undefined ? [] : [end.draft]], {
        ...defined({ move: end?.move }),
        // No change of the waiting turn may come between the check and the record.
        isControl: true,
      });
    },
  };
}
