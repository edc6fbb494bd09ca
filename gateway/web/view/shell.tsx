/**
 * The page's frame: list, transcript and composer, connection pill, dialogs, shortcuts. A phone
 * shows one pane at a time.
 *
 * @module
 */

import { useEffect } from "preact/hooks";
import { HOSTS, openAgent, openHosts } from "gateway/web/app/actions.ts";
import {
  announcement,
  card,
  dialog,
  isAdmin,
  isHosts,
  otherViewer,
  selected,
  transcript,
} from "gateway/web/app/model.ts";
import { VIEWER } from "gateway/web/device/kept.ts";
import { labelOf } from "gateway/web/state/agents.ts";
import { AgentList, isPlainClick } from "gateway/web/view/agent_list.tsx";
import { Composer } from "gateway/web/view/composer.tsx";
import { Dialogs } from "gateway/web/view/dialogs.tsx";
import { Icon, StateSign } from "gateway/web/view/icons.tsx";
import { LazyHosts } from "gateway/web/view/lazy_hosts.tsx";
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
  if (otherViewer.value) return <OtherViewer />;
  const agent = selected.value;
  // A phone shows only one of the two panes; the visible one is `main`.
  const isOpen = agent !== undefined || isHosts.value;
  const Side = isOpen ? "aside" : "main";
  const Talk = isOpen ? "main" : "section";
  const canWrite = agent !== undefined && transcript.value.phase !== "refused";
  return (
    <div class="shell" data-pane={isOpen ? "talk" : "list"}>
      {canWrite ? <a class="skip" href="#composer">Skip to the composer</a> : null}
      <Side class="side" aria-label="Fleet">
        <header class="bar">
          <Brand isTitle={!isOpen} />
          <span class="spacer" />
          <ThemeButton />
          <HelpButton />
        </header>
        {isAdmin.value ? <HostsLink /> : null}
        <AgentList />
        {VIEWER === "" ? null : <Account />}
      </Side>
      <Talk class="talk" aria-label={talkLabel(agent)}>
        {isHosts.value ? <LazyHosts /> : agent === undefined ? <NothingOpen /> : (
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

/** Replaces the whole page until it is reloaded. */
function OtherViewer() {
  return (
    <main class="nothing">
      <Icon name="spark" />
      <p role="alert">Someone else has signed in on this browser.</p>
      <a href="/">Reload the page</a>
    </main>
  );
}

function talkLabel(agent: string | undefined): string {
  if (isHosts.value) return "Hosts";
  return agent === undefined ? "No agent selected" : `Agent ${agent}`;
}

/** Link to the hosts, above the agents. */
function HostsLink() {
  return (
    <nav class="side-nav" aria-label="Fleet">
      <a
        class="side-link"
        href={HOSTS}
        aria-current={isHosts.value ? "page" : undefined}
        onClick={(event) => {
          if (!isPlainClick(event)) return;
          event.preventDefault();
          openHosts();
        }}
      >
        <Icon name="host" /> Hosts
      </a>
    </nav>
  );
}

/** The signed-in viewer, and the logout link where the login proxy is in front. */
function Account() {
  return (
    <footer class="account">
      <span class="account-name" title={VIEWER}>{VIEWER}</span>
      {document.documentElement.dataset.logout === "yes"
        ? (
          <>
            <a href="/auth/sessions">Sessions</a>
            <a href="/auth/logout">Log out</a>
          </>
        )
        : null}
    </footer>
  );
}

/** The page has one title: the open agent, or the product's name. */
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

/** Button back to the list, where there is room for one pane only. */
export function BackButton() {
  return (
    <button
      type="button"
      class="quiet square only-phone"
      aria-label="All agents"
      onClick={() => openAgent(undefined)}
    >
      <Icon name="back" />
    </button>
  );
}

function TalkBar({ agent }: { readonly agent: string }) {
  const shown = card.value;
  const label = labelOf(shown?.state ?? "unknown", shown?.reason);
  return (
    <header class="bar talk-bar">
      <BackButton />
      <h1 class="talk-name">{agent}</h1>
      {shown === undefined ? null : (
        <p class={`talk-state in-${label.group}`}>
          <StateSign shape={label.shape} /> {label.words}
          {shown.host === null ? null : <span class="faint wide-only">on {shown.host}</span>}
        </p>
      )}
      <span class="spacer" />
      {transcript.value.phase === "refused" ? null : (
        <button
          type="button"
          class="quiet square"
          aria-label={`Model of ${agent}`}
          title={`Model of ${agent}`}
          onClick={() => dialog.value = "model"}
        >
          <Icon name="model" />
        </button>
      )}
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
      <p>Choose an agent to see what it is doing.</p>
    </div>
  );
}
