/**
 * The page's icons, in the colour of the text around them. Each is beside text with the same
 * meaning, so all are hidden from screen readers.
 *
 * @module
 */

import type { ToolSort } from "core/text/tool_call.ts";
import type { StateShape } from "gateway/web/state/agents.ts";

const PATHS = {
  send: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  stop: "M4.5 4.5h7v7h-7z",
  back: "M10 3 5 8l5 5",
  down: "M8 3v10M3.5 8.5 8 13l4.5-4.5",
  help: "M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.8v.1",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6M8 1.5v1M8 13.5v1" +
    "M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  moon: "M13 9.6A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.6",
  system: "M2 3.5h12v7.5H2zM6 13.5h4",
  copy: "M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2",
  read: "M4 2.5h5L12 5.5v8H4zM6.5 7.5h3M6.5 10h3",
  write: "M3 13l.7-2.8L11 3l2 2-7.2 7.3z",
  run: "M3.5 4.5 7 8l-3.5 3.5M8.5 11.5h4",
  find: "M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8M10 10l3.2 3.2",
  web: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M2.5 8h11" +
    "M8 2.5c-3 3.2-3 7.8 0 11M8 2.5c3 3.2 3 7.8 0 11",
  other: "M8 2.5 13 5.2v5.6L8 13.5l-5-2.7V5.2zM3 5.2 8 8l5-2.8M8 8v5.5",
  host: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1",
  stack: "M3 5 8 2.5 13 5 8 7.5zM3 8l5 2.5L13 8M3 11l5 2.5 5-2.5",
  model: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14" +
    "M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  chevron: "M6 4l4 4-4 4",
  more: "M4.5 6 8 2.5 11.5 6M4.5 10 8 13.5 11.5 10",
  spark: "M8 2.5 9.4 6.6 13.5 8 9.4 9.4 8 13.5 6.6 9.4 2.5 8l4.1-1.4z",
} as const;

/** Name of an icon. */
export type IconName = keyof typeof PATHS;

/** One icon. */
export function Icon({ name }: { readonly name: IconName | ToolSort }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

const SHAPES: Readonly<Record<StateShape, string>> = {
  disc: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z",
  half: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3zM8 3v10a5 5 0 0 0 0-10z",
  ring: "M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z",
  cross: "M4 4l8 8M12 4l-8 8",
  dashed: "M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z",
  square: "M4 4h8v8H4z",
  gap: "M4 8h8",
};

/** The icon of an agent's or a host's state; the text beside it names the state. */
export function StateSign({ shape }: { readonly shape: StateShape }) {
  return (
    <svg class={`state-sign is-${shape}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={SHAPES[shape]} />
    </svg>
  );
}
