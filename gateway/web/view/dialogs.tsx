/**
 * The page's dialogs, on the browser's own: focus stays inside, Escape closes, focus goes back.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { dialog, selected } from "gateway/web/app/model.ts";
import { CodeBlock } from "gateway/web/view/long_text.tsx";
import { KEYS } from "gateway/web/view/keys.ts";

/** The open dialog, if any. */
export function Dialogs() {
  switch (dialog.value) {
    case "help":
      return (
        <Dialog title="Help" key="help">
          <h3>Keys</h3>
          <dl class="keys">
            {KEYS.map(([keys, what]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <h3>States of a message</h3>
          <dl class="keys">
            {MESSAGE_STATES.map(([state, what]) => (
              <div key={state}>
                <dt>{state}</dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      );
    case "model":
      return (
        <Dialog title="Connect a real model" key="model">
          <ModelHelp agent={selected.value ?? "ada"} />
        </Dialog>
      );
    case undefined:
      return null;
  }
}

const MESSAGE_STATES = [
  ["queued", "on this device, not sent yet"],
  ["unconfirmed", "sent without an answer; sent again by itself, and arrives once"],
  ["sent", "the gateway has it"],
  ["delivered", "the agent has it"],
] as const;

function ModelHelp({ agent }: { readonly agent: string }) {
  return (
    <>
      <p>
        The demo model runs real tools and says so. For a real one, store its key for {agent}{" "}
        on the host. The command asks for the key, so that it stands in no history:
      </p>
      <CodeBlock language="shell" text={`fleetctl secret set ANTHROPIC_API_KEY --agent ${agent}`} />
      <p>
        The key is encrypted on the host and goes to this agent only. <code>OPENAI_API_KEY</code>
        {" "}
        works the same way. In a working tree, write <code>./dev run fleetctl</code> for{" "}
        <code>fleetctl</code>.
      </p>
    </>
  );
}

function Dialog(
  { title, children }: { readonly title: string; readonly children: ComponentChildren },
) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const own = element.current;
    own?.showModal();
    return () => {
      // A closed dialog has given focus back by itself, and one may have moved on since.
      if (own?.open === true && before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby="dialog-title"
      onClose={() => dialog.value = undefined}
      onClick={(event) => {
        if (event.target === element.current) element.current?.close();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-bar">
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="small" onClick={() => element.current?.close()}>
            Close
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
