/**
 * A button for irreversible actions: it must be held for a moment, by pointer or by key, so that a
 * slip does nothing. Assistive programs, which only send clicks, activate it twice.
 *
 * @module
 */

import { useEffect, useRef, useState } from "preact/hooks";

/** How long the button must be held. */
const HOLD_MS = 700;

/** The button. Without the need to hold, it acts at once. */
export function HoldButton(
  { label, what, isHeld, isDisabled, onDone }: {
    readonly label: string;
    /** Its subject, for screen readers. */
    readonly what: string;
    readonly isHeld: boolean;
    readonly isDisabled: boolean;
    readonly onDone: () => void;
  },
) {
  const { phase, begin, cancel, click } = useHold(onDone);
  const words = `${phase === "armed" ? "Press again" : "Hold"} to ${label.toLowerCase()}`;
  if (!isHeld) {
    return (
      <button
        type="button"
        class="approve"
        disabled={isDisabled}
        aria-label={`${label} ${what}`}
        onClick={onDone}
      >
        {label}
      </button>
    );
  }
  return (
    <button
      type="button"
      class={`approve hold ${phase === "holding" ? "is-holding" : ""}`}
      disabled={isDisabled}
      aria-label={`${words} ${what}`}
      style={{ "--hold": `${HOLD_MS}ms` }}
      onPointerDown={begin}
      onPointerUp={cancel}
      onPointerLeave={cancel}
      onPointerCancel={cancel}
      onKeyDown={(event) => {
        if (isKey(event) && !event.repeat) begin();
      }}
      onKeyUp={cancel}
      onBlur={cancel}
      onContextMenu={(event) => event.preventDefault()}
      onClick={click}
    >
      {words}
    </button>
  );
}

function isKey({ key }: KeyboardEvent): boolean {
  return key === "Enter" || key === " ";
}

/** The state of a hold: `begin` and `cancel` by pointer or key, `click` by assistive programs. */
function useHold(onDone: () => void) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const wasHeld = useRef(false);
  const [phase, setPhase] = useState<"rest" | "holding" | "armed">("rest");
  useEffect(() => () => clearTimeout(timer.current), []);
  const begin = () => {
    wasHeld.current = true;
    clearTimeout(timer.current);
    setPhase("holding");
    timer.current = setTimeout(() => {
      setPhase("rest");
      onDone();
    }, HOLD_MS);
  };
  const cancel = () => {
    clearTimeout(timer.current);
    setPhase((found) => found === "holding" ? "rest" : found);
  };
  const click = () => {
    const byHold = wasHeld.current;
    wasHeld.current = false;
    if (byHold) return;
    // A click without key or pointer, as assistive programs send it.
    if (phase === "armed") onDone();
    setPhase(phase === "armed" ? "rest" : "armed");
  };
  return { phase, begin, cancel, click };
}
