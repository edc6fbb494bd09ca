/**
 * A button for what cannot be taken back: it works when it was held down for a moment, by pointer
 * or by key, so that a slip of the finger does nothing. Who cannot hold a key down presses twice.
 *
 * @module
 */

import { useEffect, useRef, useState } from "preact/hooks";

/** How long it is to be held. */
const HOLD_MS = 700;

/** The button; one that need not be held works at once. */
export function HoldButton(
  { label, what, isHeld, isDisabled, onDone }: {
    readonly label: string;
    /** What it is about, for those who do not see it. */
    readonly what: string;
    readonly isHeld: boolean;
    readonly isDisabled: boolean;
    readonly onDone: () => void;
  },
) {
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
  const words = `${phase === "armed" ? "Press again" : "Hold"} to ${label.toLowerCase()}`;
  const isKey = (event: KeyboardEvent) => event.key === "Enter" || event.key === " ";
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
      onClick={() => {
        const byHold = wasHeld.current;
        wasHeld.current = false;
        if (byHold) return;
        // A press without a key or a pointer, as assistive programs make it.
        if (phase === "armed") onDone();
        setPhase(phase === "armed" ? "rest" : "armed");
      }}
    >
      {words}
    </button>
  );
}
