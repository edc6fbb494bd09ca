/**
 * The frame of the page: list, transcript and composer, the connection pill, dialogs, keys. On a phone
 * one pane at a time.
 *
 * @module
 */

import { useEffect } from "preact/hooks";
import { openAgent } from "gateway/web/app/actions.ts";
import { announcement, card, dialog, selected, transcript } from "gateway/web/app/model.ts";
import { lookOf } from "gateway/web/state/agents.ts";
import { AgentList } from "gateway/web/view/agent_list.tsx";
import { Composer } from "gateway/web/view/composer.tsx";
import { Dialogs } from "gateway/web/view/dialogs.tsx";
import { Icon, StateSign } from "gateway/web/view/icons.tsx";
import { handleKey } from "gateway/web/view/keys.ts";
import { Pill } from "gateway/web/view/pill.tsx";
import { ThemeButton } from "gateway/web/view/theme_button.tsx";
import { TranscriptPane } from "gateway/web/view/transcript_pane.tsx";

/** The whole page. */
export function Shell() {
  useEffect(() => {
    addEventListener("keydown", handleKey);
    return () => removeEventListener("keydown", handleKey);
  }, []);
  const agent = selected.value;
  // On a phone only one of both is there: what is there is the main part.
  const Side = agent === undefined ? "main" : "aside";
  const Talk = agent === undefined ? "section" : "main";
  const canWrite = agent !== undefined && transcript.value.phase !== "refused";
  return (
    <div class="shell" data-pane={agent === undefined ? "list" : "talk"}>
      {canWrite ? <a class="skip" href="#composer">Skip to the composer</a> : null}
      <Side class="side" aria-label="Fleet">
        <header class="bar">
          <Brand isTitle={agent === undefined} />
          <span class="spacer" />
          <ThemeButton />
          <HelpButton />
        </header>
        <AgentList />
      </Side>
      <Talk class="talk" aria-label={agent === undefined ? "No agent is open" : `Agent ${agent}`}>
        {agent === undefined ? <NothingOpen /> : (
          <>
            <TalkBar agent={agent} />
            <TranscriptPane agent={agent} key={agent} />
            <Composer agent={agent} key={`composer-${agent}`} />
          </>
        )}
      </Talk>
      <Pill />
      <Dialogs />
      <div class="unseen" role="status" aria-live="polite">{announcement}</div>
    </div>
  );
}

/** The page has one title: the open agent, or the product when none is. */
function Brand({ isTitle }: { readonly isTitle: boolean }) {
  const Level = isTitle ? "h1" : "p";
  return (
    <Level class="brand">
      <Icon name="spark" /> fleetctl
    </Level>
  );
}

function HelpButton() {
  return (
    <button
      type="button"
      class="quiet square"
      aria-label="Help and keys"
      title="Help and keys (?)"
      onClick={() => dialog.value = "help"}
    >
      <Icon name="help" />
    </button>
  );
}

function TalkBar({ agent }: { readonly agent: string }) {
  const shown = card.value;
  const look = lookOf(shown?.state ?? "unknown");
  return (
    <header class="bar talk-bar">
      <button
        type="button"
        class="quiet square only-phone"
        aria-label="All agents"
        onClick={() => openAgent(undefined)}
      >
        <Icon name="back" />
      </button>
      <h1 class="talk-name">{agent}</h1>
      {shown === undefined ? null : (
        <p class={`talk-state in-${look.group}`}>
          <StateSign shape={look.shape} /> {look.words}
          {shown.host === null ? null : <span class="faint wide-only">on {shown.host}</span>}
        </p>
      )}
      <span class="spacer" />
      <button
        type="button"
        class="quiet square"
        aria-label={`Model of ${agent}`}
        title={`Model of ${agent}`}
        onClick={() => dialog.value = "model"}
      >
        <Icon name="model" />
      </button>
      <span class="only-phone">
        <HelpButton />
      </span>
    </header>
  );
}

function NothingOpen() {
  return (
    <div class="nothing">
      <Icon name="spark" />
      <p>Choose an agent to see what it does.</p>
    </div>
  );
}
