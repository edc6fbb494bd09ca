/**
 * The list of agents: two lines each, grouped by need for attention. Rows of a group are sorted by
 * name, so they do not move under the pointer when another agent changes.
 *
 * @module
 */

import { cleanLine } from "core/text/clean.ts";
import { openAgent } from "gateway/web/app/actions.ts";
import { agents, connection, now, selected } from "gateway/web/app/model.ts";
import {
  formatAge,
  GROUP_WORDS,
  grouped,
  labelOf,
  offlineWords,
  reasonWords,
} from "gateway/web/state/agents.ts";
import type { AgentCard } from "gateway/web/state/wire.ts";
import { readDraft } from "gateway/web/device/kept.ts";
import { StateSign } from "gateway/web/view/icons.tsx";

/** The list. */
export function AgentList() {
  const cards = agents.value;
  if (cards === undefined) return <ListWaiting />;
  if (cards.length === 0) {
    return <p class="list-note">No agents yet. An administrator can add one on the host.</p>;
  }
  return (
    <nav class="agent-list" aria-label="Agents">
      {grouped(cards).map(({ group, cards }) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 class="group-name" id={`group-${group}`}>
            {GROUP_WORDS[group]} <span class="faint">{cards.length}</span>
          </h2>
          <ul role="list">
            {cards.map((card) => <Row card={card} key={card.agent} />)}
          </ul>
        </section>
      ))}
    </nav>
  );
}

/** All other clicks on a link are left to the browser: a new tab, a new window. */
export function isPlainClick(event: MouseEvent): boolean {
  return !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0;
}

function ListWaiting() {
  if (connection.value.kind === "signed-out") {
    return <p class="list-note">Sign in to see your agents.</p>;
  }
  return (
    <div class="list-waiting" aria-busy="true" aria-label="Agents are loading">
      {[0, 1, 2].map((row) => <div class="ghost" key={row} />)}
    </div>
  );
}

function Row({ card }: { readonly card: AgentCard }) {
  const label = labelOf(card.state, card.reason);
  const reason = reasonWords(card.reason);
  const isOpen = selected.value === card.agent;
  const hasDraft = !isOpen && (readDraft(card.agent)?.text ?? "") !== "";
  const age = formatAge(card.since, now.value);
  return (
    <li>
      <a
        class={`agent-row in-${label.group}`}
        href={`/agents/${card.agent}`}
        aria-current={isOpen ? "page" : undefined}
        onClick={(event) => {
          if (!isPlainClick(event)) return;
          event.preventDefault();
          openAgent(card.agent);
        }}
      >
        <StateSign shape={label.shape} />
        <span class="row-lines">
          <span class="row-top">
            <span class="row-name">{card.agent}</span>
            {card.isOwn ? <span class="tag">yours</span> : null}
            {hasDraft ? <span class="tag">draft</span> : null}
            <span class="spacer" />
            {age === "" ? null : <span class="row-age">{age}</span>}
          </span>
          <span class="row-under">
            {label.words}
            {card.host === null ? null : ` · ${cleanLine(card.host)}`}
            {card.state === "offline" ? ` · ${offlineWords(card, now.value)}` : null}
            {reason === "" ? null : ` · ${cleanLine(reason)}`}
          </span>
        </span>
      </a>
    </li>
  );
}
