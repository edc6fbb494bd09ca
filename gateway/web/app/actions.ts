/**
 * Actions of the user and reactions to events: sending, stopping, opening agents, drafts,
 * announcements. Components call these functions and change no state themselves.
 *
 * @module
 */

import { cleanLine } from "core/text/clean.ts";
import { cancelTurn, Refused, sendTurn, steerTurn } from "gateway/web/device/cockpit.ts";
import { keepChoice, newKey, openOutboxStore, type OutboxStore } from "gateway/web/device/kept.ts";
import { firstSentence } from "gateway/web/state/first_sentence.ts";
import { cutWords } from "gateway/web/state/truncations.ts";
import {
  answered,
  nextToSend,
  type OutboxItem,
  shownKeys,
  withItem,
  withoutItem,
} from "gateway/web/state/outbox.ts";
import { retryDelay } from "gateway/web/state/connection.ts";
import { summaryOf } from "core/questions/form.ts";
import { parseForm } from "gateway/web/state/questions.ts";
import { text, type WireEvent } from "gateway/web/state/wire.ts";
import { forgetApprovals, onApprovalEvents, readOpenApprovals } from "gateway/web/app/approvals.ts";
import {
  forgetQuestions,
  hasShownQuestions,
  onQuestionEvents,
  readOpenQuestions,
} from "gateway/web/app/questions.ts";
import { dropSentDraft, showDraft, takeDraft, typeWithNewKey } from "gateway/web/app/drafts.ts";
import { type Live, startLive } from "gateway/web/app/live.ts";
import { viewerHolds, watchViewer } from "gateway/web/app/viewer.ts";
import {
  announcement,
  connection,
  draft,
  isHosts,
  isKept,
  now,
  outbox,
  running,
  selected,
  stopFault,
  type Theme,
  theme,
  transcript,
  turns,
} from "gateway/web/app/model.ts";

/** Path of the page of hosts. */
export const HOSTS = "/hosts";

let live: Live;
let store: OutboxStore;
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let unanswered = 0;

/** Fetches what waits for the owner: questions only when one may wait or is shown. */
async function readWaiting(): Promise<void> {
  if (await readOpenApprovals() || hasShownQuestions()) await readOpenQuestions();
}

/** Starts the page. */
export async function startApp(): Promise<void> {
  applyTheme();
  watchViewer();
  live = startLive({
    onOnline: () => {
      viewerHolds();
      void pump();
      void readWaiting();
    },
    onEvents: (events) => {
      settleOutbox();
      for (const event of events) announce(event);
      onApprovalEvents(events);
      onQuestionEvents(events);
    },
    onPage: settleOutbox,
  });
  showHere();
  addEventListener("popstate", showHere);
  setInterval(tick, 1_000);
  store = await openOutboxStore();
  isKept.value = store.isKept;
  const kept = await store.all().catch(() => []);
  outbox.value = kept.reduce(withItem, outbox.value);
  dropSentDraft(isInOutbox);
  await pump();
}

function tick(): void {
  const isCounting = connection.value.kind === "waiting";
  if (isCounting || Date.now() - now.value >= 15_000) now.value = Date.now();
}

/** Shows what the URL names. */
function showHere(): void {
  isHosts.value = location.pathname === HOSTS;
  showAgent(isHosts.value ? undefined : agentHere());
}

/** The agent named in the URL; otherwise the viewer's own. A phone starts with the list instead. */
function agentHere(): string | undefined {
  const named = /^\/agents\/([a-z][a-z0-9-]{0,30})$/.exec(location.pathname)?.[1];
  const own = document.documentElement.dataset.agent ?? "";
  const isPhone = matchMedia("(max-width: 699px)").matches;
  return named ?? (isPhone || own === "" ? undefined : own);
}

function showAgent(agent: string | undefined): void {
  selected.value = agent;
  stopFault.value = "";
  forgetApprovals();
  forgetQuestions();
  showDraft(agent);
  dropSentDraft(isInOutbox);
  const title = isHosts.value ? "Hosts" : agent;
  document.title = title === undefined ? "fleetctl" : `${title} · fleetctl`;
  live.open(agent);
}

function isInOutbox(key: string): boolean {
  return outbox.value.some((item) => item.key === key);
}

/** Opens an agent, or the list. */
export function openAgent(agent: string | undefined): void {
  if (agent === selected.value && !isHosts.value) return;
  history.pushState(null, "", agent === undefined ? "/" : `/agents/${agent}`);
  isHosts.value = false;
  showAgent(agent);
}

/** Opens the hosts of the fleet. */
export function openHosts(): void {
  if (isHosts.value) return;
  history.pushState(null, "", HOSTS);
  isHosts.value = true;
  showAgent(undefined);
}

/** Sends the draft. */
export async function sendDraft(): Promise<void> {
  if (draft.value.trim() === "" || selected.value === undefined) return;
  const outgoing = takeDraft();
  await queue(outgoing.text, outgoing.key, outgoing.stored);
}

/** Sends a text that was not typed in the composer. */
export async function sendText(words: string): Promise<void> {
  await queue(words, newKey(), () => {});
}

/** Stores a message, then deletes the draft, then sends. This order cannot lose the text. */
async function queue(words: string, key: string, onStored: () => void): Promise<void> {
  const agent = selected.value;
  if (agent === undefined) return;
  const item: OutboxItem = {
    key,
    agent,
    text: words,
    createdAt: Date.now(),
    state: "queued",
    turnId: undefined,
    reason: undefined,
  };
  outbox.value = withItem(outbox.value, item);
  await persist(item);
  onStored();
  if (transcript.value.hasNewer) await live.loadNewest();
  await pump();
}

async function persist(item: OutboxItem): Promise<void> {
  try {
    store ??= await openOutboxStore();
    await store.put(item);
  } catch {
    // The disk is full: keep the message in memory only. The composer shows a warning.
    isKept.value = false;
  }
}

/** Sends a refused message again. */
export async function retryItem(item: OutboxItem): Promise<void> {
  const again = { ...item, state: "queued" as const, reason: undefined };
  outbox.value = withItem(outbox.value, again);
  await persist(again);
  await pump();
}

/** Withdraws a message: moves its text to the composer if that is empty, otherwise deletes it. */
export async function discardItem(item: OutboxItem): Promise<void> {
  outbox.value = withoutItem(outbox.value, item.key);
  if (draft.value === "" && item.agent === selected.value) {
    typeWithNewKey(item.text);
  }
  await store.remove(item.key).catch(() => {});
}

async function pump(): Promise<void> {
  if (connection.value.kind !== "online" || store === undefined) return;
  const item = nextToSend(outbox.value);
  if (item === undefined) return;
  outbox.value = withItem(outbox.value, { ...item, state: "sending" });
  const answer = await sendTurn(item);
  // Discarded meanwhile. If the gateway has accepted it, the transcript shows it.
  if (!outbox.value.some(({ key }) => key === item.key)) return await pump();
  const next = answered(item, answer);
  outbox.value = withItem(outbox.value, next);
  if (next.state === "sent") await store.remove(item.key).catch(() => {});
  else await persist(next);
  settleOutbox();
  if (answer.kind === "accepted" || answer.kind === "refused") {
    unanswered = 0;
    return await pump();
  }
  unanswered++;
  clearTimeout(retryTimer);
  retryTimer = setTimeout(() => void pump(), retryDelay(unanswered, Math.random()));
}

/** Removes messages that the transcript shows; those to other agents are removed once sent. */
function settleOutbox(): void {
  const shown = new Set(
    turns.value.filter(({ ask }) => ask !== undefined).map(({ turnId }) => turnId),
  );
  const keys = shownKeys(outbox.value, shown);
  const isElsewhere = (item: OutboxItem) => item.state === "sent" && item.agent !== selected.value;
  const left = outbox.value.filter((item) => !keys.includes(item.key) && !isElsewhere(item));
  if (left.length !== outbox.value.length) outbox.value = left;
}

/** Stops the running turn. */
export async function stopTurn(): Promise<void> {
  const turn = running.value;
  const agent = selected.value;
  if (turn === undefined || agent === undefined) return;
  stopFault.value = "";
  announcement.value = "Stopping";
  try {
    await cancelTurn(agent, turn.turnId);
  } catch (thrown) {
    stopFault.value = thrown instanceof Refused
      ? thrown.problem.detail
      : "Not stopped: the gateway did not answer. Try again when the connection returns.";
  }
}

/** Sends a waiting message into the running turn; false when it stays queued. */
export async function sendNow(turnId: string): Promise<boolean> {
  const agent = selected.value;
  if (agent === undefined) return false;
  stopFault.value = "";
  try {
    await steerTurn(agent, turnId);
    return true;
  } catch (thrown) {
    stopFault.value = thrown instanceof Refused
      ? thrown.problem.detail
      : "Not sent now: the gateway did not answer. The message stays queued.";
    return false;
  }
}

/** Retries the connection. */
export function retryNow(): void {
  live.retryNow();
}

/** Fetches the page before the oldest event. */
export async function loadOlder(): Promise<void> {
  await live.loadOlder();
}

/** Fetches the page before the oldest event, only if that drops no newer events. */
export async function loadOlderIfRoom(): Promise<void> {
  await live.loadOlderIfRoom();
}

/** Fetches omitted steps of a turn. */
export async function loadSteps(turnId: string): Promise<void> {
  await live.loadSteps(turnId);
  const cut = transcript.value.cuts.get(turnId);
  announcement.value = cut?.phase === "failed"
    ? "The earlier steps could not be loaded"
    : cut === undefined
    ? "All steps are shown"
    : `${cutWords(cut.counts)} left`;
}

/** Returns to the newest events. */
export async function loadNewest(): Promise<void> {
  await live.loadNewest();
}

function announce(event: WireEvent): void {
  const { kind, payload, agent } = event;
  if (kind === "turn_started") announcement.value = `${agent} is working`;
  if (kind === "approval_asked") {
    announcement.value = `${agent} asks for approval: ${cleanLine(text(payload.tool))}`;
  }
  if (kind === "question_asked") {
    announcement.value = `${agent} asks: ${cleanLine(summaryOf(parseForm(payload)))}`;
  }
  if (kind !== "turn_ended") return;
  const turn = turns.value.find(({ turnId }) => turnId === event.turnId);
  const answer = turn?.steps.findLast(({ kind }) => kind === "message");
  const outcome = text(payload.outcome);
  announcement.value = outcome === "completed"
    ? answer?.kind === "message" ? `${agent}: ${firstSentence(answer.text)}` : `${agent} is done`
    : `The turn ended: ${outcome}. ${firstSentence(text(payload.reason))}`;
}

/** Sets a theme and stores it on the device. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  keepChoice("theme", chosen === "system" ? undefined : chosen);
  applyTheme();
}

function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}
