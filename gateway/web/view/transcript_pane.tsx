/**
 * The transcript as a feed: older pages come as one scrolls up, the view stays at the end while one is
 * there, and stays where it is when one is not.
 *
 * @module
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { loadNewest, loadOlder, retryNow } from "gateway/web/app/actions.ts";
import { connection, now, outbox, transcript, turns } from "gateway/web/app/model.ts";
import type { Preview } from "gateway/web/state/transcript.ts";
import type { TurnView } from "gateway/web/state/turns.ts";
import { Empty } from "gateway/web/view/empty.tsx";
import { Icon } from "gateway/web/view/icons.tsx";
import { Turn } from "gateway/web/view/turn.tsx";

/** Pixels from the end that count as being there. */
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
  const toEnd = () => {
    const element = pane.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  };
  useLayoutEffect(toEnd);
  useEffect(() => {
    const element = pane.current;
    if (element === null) return;
    const observer = new ResizeObserver(toEnd);
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
    if (element.scrollTop > OLDER_PX) return;
    // At the very top a browser does not hold the view in place when something is put above it.
    if (element.scrollTop === 0 && element.scrollHeight > element.clientHeight) {
      element.scrollTop = 1;
    }
    void loadOlder();
  };
  const jump = async () => {
    follows.current = true;
    if (transcript.value.hasNewer) await loadNewest();
    setAtEnd(true);
    toEnd();
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

function Content({ agent }: { readonly agent: string }) {
  const state = transcript.value;
  if (state.phase === "refused") {
    return (
      <div class="fault" role="alert">
        <h2>This agent cannot be shown</h2>
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
      {state.before === null
        ? <p class="beginning">The beginning of this transcript</p>
        : (
          <p class="older">
            <button
              type="button"
              class="small"
              disabled={state.isLoadingOlder}
              onClick={() => void loadOlder()}
            >
              {state.isLoadingOlder ? "Loading…" : "Older messages"}
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

/** Before the first page: shapes while it comes, words when there is nothing to wait for. */
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
          The transcript appears as soon as the gateway answers. You can write already: it is sent
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
    const day = printDay(turn.at, now.value);
    // Clocks of agents differ; a day that was shown is not shown again.
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

function printDay(at: number, today: number): string {
  const day = DAY.format(at);
  if (day === DAY.format(today)) return "Today";
  return day === DAY.format(today - 86_400_000) ? "Yesterday" : day;
}
