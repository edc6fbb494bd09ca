/**
 * The command palette: agents and actions, found by a few letters. A list box controlled by the
 * field above it, for screen readers (WAI-ARIA, combobox with list box).
 *
 * @module
 */

import { useEffect, useRef, useState } from "preact/hooks";
import {
  chooseTheme,
  loadNewest,
  openAgent,
  openHosts,
  stopTurn,
} from "gateway/web/app/actions.ts";
import { agents, dialog, isAdmin, running, selected, THEMES } from "gateway/web/app/model.ts";
import { labelOf } from "gateway/web/state/agents.ts";
import { findItems, type PaletteItem, stepTo } from "gateway/web/state/palette.ts";

const THEME_WORDS = { system: "same as the device", light: "light", dark: "dark" } as const;

/** The entries available now. */
function allItems(): readonly PaletteItem[] {
  const agent = selected.value;
  const ofAgent: readonly PaletteItem[] = agent === undefined ? [] : [
    ...(running.value === undefined ? [] : [{
      id: "stop",
      words: "Stop",
      note: `the turn of ${agent}`,
      run: () => void stopTurn(),
    }]),
    {
      id: "model",
      words: `Model of ${agent}`,
      note: "connect a real model",
      run: () => void (dialog.value = "model"),
    },
    { id: "newest", words: "Newest message", note: "", run: () => void loadNewest() },
    { id: "list", words: "All agents", note: "", run: () => openAgent(undefined) },
  ];
  return [
    ...(agents.value ?? []).map((card): PaletteItem => ({
      id: `agent-${card.agent}`,
      words: card.agent,
      note: labelOf(card.state, card.reason).words,
      run: () => openAgent(card.agent),
    })),
    ...ofAgent,
    ...(isAdmin.value
      ? [{ id: "hosts", words: "Hosts", note: "of the fleet", run: openHosts }]
      : []),
    ...THEMES.map((theme): PaletteItem => ({
      id: `theme-${theme}`,
      words: `Theme: ${THEME_WORDS[theme]}`,
      note: "",
      run: () => chooseTheme(theme),
    })),
    { id: "help", words: "Help and keys", note: "", run: () => void (dialog.value = "help") },
  ];
}

/** The field and its list. */
export function Palette() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const found = findItems(allItems(), query);
  const active = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    document.getElementById(`palette-${active?.id}`)?.scrollIntoView({ block: "nearest" });
  }, [active?.id]);
  const run = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    field.current?.closest("dialog")?.close();
    dialog.value = undefined;
    // Run after the close has restored the focus, so that a new dialog can restore it later.
    setTimeout(item.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      setAt(
        stepTo(Math.min(at, found.length - 1), event.key === "ArrowDown" ? 1 : -1, found.length),
      );
    } else if (event.key === "Enter") run(active);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div class="field">
        <label class="unseen" for="palette-field">Agent or action</label>
        <input
          id="palette-field"
          ref={field}
          // The dialog focuses it when it opens.
          autofocus
          role="combobox"
          aria-expanded
          aria-controls="palette-list"
          aria-autocomplete="list"
          aria-activedescendant={active === undefined ? undefined : `palette-${active.id}`}
          autocomplete="off"
          spellcheck={false}
          placeholder="Agent or action"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <ul id="palette-list" class="palette" role="listbox" aria-label="Agents and actions">
        {found.map((item) => (
          <li
            key={item.id}
            id={`palette-${item.id}`}
            role="option"
            aria-selected={item === active}
            onClick={() => run(item)}
          >
            {item.words} <span class="faint">{item.note}</span>
          </li>
        ))}
      </ul>
      <p class="faint" role="status">{found.length === 0 ? "No matches" : ""}</p>
    </>
  );
}
