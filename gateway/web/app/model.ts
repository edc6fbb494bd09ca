/**
 * All state that the page shows, as signals. The other files of `app/` change them; components
 * read them and call actions.
 *
 * @module
 */

import { computed, signal } from "@preact/signals";
import type { Connection } from "gateway/web/state/connection.ts";
import type { OutboxItem } from "gateway/web/state/outbox.ts";
import { emptyTranscript, type Transcript } from "gateway/web/state/transcript.ts";
import { runningTurn, turnsOf, type TurnView } from "gateway/web/state/turns.ts";
import type { AgentCard } from "gateway/web/state/wire.ts";
import { readChoice } from "gateway/web/device/kept.ts";

/** Themes of the toggle; `system` follows the device. */
export const THEMES = ["system", "light", "dark"] as const;
/** One of `THEMES`. */
export type Theme = typeof THEMES[number];

/** Cards of agents; undefined until the gateway has sent them. */
export const agents = signal<readonly AgentCard[] | undefined>(undefined);
/** Agent whose transcript is open; undefined shows the list on a phone. */
export const selected = signal<string | undefined>(undefined);
/** Whether the hosts of the fleet are open instead of an agent. */
export const isHosts = signal(false);
/**
 * Hosts as the gateway sent them, for the script of the hosts page, which is loaded on first use.
 */
export const sentHosts = signal<Readonly<Record<string, unknown>> | undefined>(undefined);
/** Why the hosts cannot be shown; empty when they can. */
export const hostsProblem = signal("");
/** The open transcript. */
export const transcript = signal<Transcript>(emptyTranscript(""));
/** State of the page's connection. */
export const connection = signal<Connection>({ kind: "connecting" });
/** Outgoing messages. */
export const outbox = signal<readonly OutboxItem[]>([]);
/** Whether the device stores the outbox; if false, the composer shows a warning. */
export const isKept = signal(true);
/** Text of the composer for the open agent. */
export const draft = signal("");
/** Milliseconds since the epoch; updated as often as a visible element needs it. */
export const now = signal(Date.now());
/** Text of the polite live region. */
export const announcement = signal("");
/** The open dialog. */
export const dialog = signal<"help" | "model" | "palette" | "host" | undefined>(undefined);
/** Chosen theme. */
export const theme = signal<Theme>(THEMES.find((one) => one === readChoice("theme")) ?? "system");
/** Whether to show links for admins to this viewer. The gateway authorizes each call separately. */
export const isAdmin = signal(document.documentElement.dataset.fleet === "yes");
/** Another person has signed in: nothing of this page's viewer may be shown. */
export const otherViewer = signal(false);
/** Why the last Stop failed; cleared by the next one. */
export const stopFault = signal("");

let shownTurns: readonly TurnView[] = [];

/** Turns of the open transcript; unchanged turns keep their object identity. */
export const turns = computed<readonly TurnView[]>(() => {
  shownTurns = turnsOf(transcript.value.events, shownTurns, transcript.value);
  return shownTurns;
});

/** Card of the open agent. */
export const card = computed<AgentCard | undefined>(() =>
  agents.value?.find(({ agent }) => agent === selected.value)
);

/** The turn that Stop applies to. */
export const running = computed<TurnView | undefined>(() =>
  transcript.value.hasNewer ? undefined : runningTurn(turns.value)
);

/** Outgoing messages to the open agent. */
export const ownOutbox = computed<readonly OutboxItem[]>(() =>
  outbox.value.filter(({ agent }) => agent === selected.value)
);
