/**
 * The transcript as a feed. Older pages load until the view can scroll, and then as the
 * reader scrolls up. The view stays at the end while the reader is there; otherwise it keeps its
 * position.
 *
 * @module
 */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { loadNewest, loadOlder, loadOlderIfRoom, retryNow } from "gateway/web/app/actions.ts";
import { connection, now, outbox, transcript, turns } from "gateway/web/app/model.ts";
import type { Preview } from "gateway/web/state/transcript.ts";
import type { TurnView } from "gateway/web/state/turns.ts";
import { holdPlace, type Place, placeIn } from "gateway/web/view/place.ts";
import { keepFocus } from "gateway/web/view/focus.ts";
import { Empty } from "gateway/web/view/empty.tsx";
import { Icon } from "gateway/web/view/icons.tsx";
import { Turn } from "gateway/web/view/turn.tsx";

/** Distance in pixels that counts as the end. */
const END_PX = 60;
/** Pixels from the beginning at which the older page is fetched. */
const OLDER_PX = 900;
const NO_PREVIEWS: readonly Preview[] = [];

/** The pane. */
export function TranscriptPane({ agent }: { readonly agent: string }) {
  const pane = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const follows = useRef(true);
  const state = transcript.value;
  const isOnline = connection.value.kind === "online";
  const place = usePlace(pane, follows);
  const settle = () => {
    const element = pane.current;
    if (element === null) return;
    if (follows.current) element.scrollTop = element.scrollHeight;
    fill(element);
  };
  useLayoutEffect(() => {
    if (pane.current !== null) holdPlace(pane.current, place);
    settle();
  });
  // When offline, the older page is requested after the reconnect.
  useEffect(settle, [isOnline]);
  useEffect(() => {
    const element = pane.current;
    if (element === null) return;
    const observer = new ResizeObserver(settle);
    observer.observe(element);
    if (element.firstElementChild !== null) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, []);
  const onScroll = () => {
    const element = pane.current;
    if (element === null) return;
    const left = element.scrollHeight - element.clientHeight - element.scrollTop;
    follows.current = left < END_PX && !transcript.value.hasNewer;
    setAtEnd(follows.current);
    if (element.scrollTop > OLDER_PX || transcript.value.hasOlderFailed) return;
    void (follows.current ? loadOlderIfRoom() : loadOlder());
  };
  const jump = async () => {
    follows.current = true;
    if (transcript.value.hasNewer) await loadNewest();
    setAtEnd(true);
    settle();
  };
  return (
    <div class="pane-place">
      <div
        class="pane"
        ref={pane}
        onScroll={onScroll}
        tabIndex={0}
        aria-label={`Transcript of ${agent}`}
        role="region"
      >
        <div class="column">
          <Content agent={agent} />
        </div>
      </div>
      {isAtEnd && !state.hasNewer
        ? null
        : (
          <button type="button" class="jump" onClick={() => void jump()}>
            <Icon name="down" /> Newest
          </button>
        )}
    </div>
  );
}

/** Loads older turns until the view can scroll, because scrolling triggers all further loads. */
function fill(pane: HTMLElement): void {
  const { phase, hasOlderFailed } = transcript.value;
  const isShort = pane.clientHeight > 0 && pane.scrollHeight <= pane.clientHeight;
  if (phase === "ready" && isShort && !hasOlderFailed) void loadOlderIfRoom();
}

/** Remembers the element at the top of the view, before content above it is added or removed. */
function usePlace(
  pane: RefObject<HTMLDivElement | null>,
  follows: RefObject<boolean>,
): Place | undefined {
  const { events, cuts } = transcript.value;
  const top = `${events[0]?.seq} ${[...cuts.values()].map(({ before }) => before).join()}`;
  const known = useRef(top);
  const isMoved = known.current !== top;
  known.current = top;
  return isMoved && pane.current !== null && follows.current !== true
    ? placeIn(pane.current)
    : undefined;
}

function Content({ agent }: { readonly agent: string }) {
  const state = transcript.value;
  if (state.phase === "refused") {
    return (
      <div class="fault" role="alert">
        <h2>Cannot show this agent</h2>
        <p>{state.problem}</p>
        <p>
          <a href="/">Go to your own agent</a>
        </p>
      </div>
    );
  }
  if (state.phase === "loading") return <Waiting />;
  const views = turns.value;
  const waits = outbox.value.some((item) => item.agent === agent);
  if (views.length === 0 && state.before === null && !waits) return <Empty agent={agent} />;
  return (
    <>
      {state.before === null ? <p class="beginning">Start of the transcript</p> : (
        <p class="older">
          <button
            type="button"
            class="small"
            // A disabled button would lose the focus while it loads.
            aria-disabled={state.isLoadingOlder}
            onClick={(event) => void keepFocus(event.currentTarget, loadOlder)}
          >
            {state.isLoadingOlder
              ? "Loading…"
              : state.hasOlderFailed
              ? "Could not load older messages. Try again"
              : "Older messages"}
          </button>
        </p>
      )}
      <div role="feed" aria-busy={state.isLoadingOlder} aria-label={`Messages of ${agent}`}>
        {withDays(views).map((row) =>
          typeof row === "string" ? <Day key={`day-${row}`} day={row} /> : (
            <Turn
              key={row.turn.key}
              turn={row.turn}
              agent={agent}
              position={row.position}
              previews={previewsOf(row.turn)}
            />
          )
        )}
      </div>
    </>
  );
}

function previewsOf(turn: TurnView): readonly Preview[] {
  const all = transcript.value.previews;
  return all.length === 0 || turn.state === "ended"
    ? NO_PREVIEWS
    : all.filter(({ turnId }) => turnId === turn.turnId);
}

/** Before the first page: a skeleton while it loads, a message when nothing will come. */
function Waiting() {
  const { kind } = connection.value;
  if (kind === "signed-out") {
    return <p class="beginning">What you typed is kept on this device.</p>;
  }
  if (kind === "waiting" || kind === "retrying") {
    return (
      <div class="fault">
        <h2>No connection to the gateway</h2>
        <p>
          The transcript appears when the gateway answers. You can already write: messages are sent
          then.
        </p>
        <p>
          <button type="button" onClick={retryNow}>Try again</button>
        </p>
      </div>
    );
  }
  return (
    <div class="waiting" aria-busy="true" aria-label="The transcript is loading">
      {[0, 1, 2, 3].map((row) => <div class="ghost" key={row} />)}
    </div>
  );
}

function withDays(
  views: readonly TurnView[],
): readonly (string | { readonly turn: TurnView; readonly position: number })[] {
  const rows: (string | { turn: TurnView; position: number })[] = [];
  let last = "";
  views.forEach((turn, index) => {
    const day = formatDay(turn.at, now.value);
    // Clocks of agents differ: a day is shown only once.
    if (day !== last && !rows.includes(day)) rows.push(day);
    last = day;
    rows.push({ turn, position: index + 1 });
  });
  return rows;
}

function Day({ day }: { readonly day: string }) {
  return (
    <p class="day">
      <span>{day}</span>
    </p>
  );
}

const DAY = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});

function formatDay(at: number, today: number): string {
  const day = DAY.format(at);
  if (day === DAY.format(today)) return "Today";
  return day === DAY.format(today - 86_400_000) ? "Yesterday" : day;
}
