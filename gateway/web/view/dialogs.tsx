/**
 * The page's dialogs, on the browser's own: focus stays inside, Escape closes, focus goes back.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dialog, selected } from "gateway/web/app/model.ts";
import { keysHere } from "gateway/web/view/keys.ts";
import { Palette } from "gateway/web/view/palette.tsx";
import { ModelForm } from "gateway/web/view/model_form.tsx";

/** The open dialog, if any. */
export function Dialogs() {
  switch (dialog.value) {
    case "help":
      return (
        <Dialog title="Help" key="help">
          <h3>Keys</h3>
          <dl class="keys">
            {keysHere().map(([keys, what]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <h3>Message states</h3>
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
          {selected.value === undefined ? null : <ModelForm agent={selected.value} />}
        </Dialog>
      );
    case "palette":
      return (
        <Dialog title="Go to" key="palette">
          <Palette />
        </Dialog>
      );
    // Drawn by the hosts themselves.
    case "host":
    case undefined:
      return null;
  }
}

const MESSAGE_STATES = [
  ["queued", "on this device, not sent yet"],
  ["unconfirmed", "sent, not confirmed; resent automatically, delivered once"],
  ["sent", "received by the gateway"],
  ["delivered", "received by the agent"],
] as const;

/** One dialog; closing it, in whatever way, leaves none open. */
export function Dialog(
  { title, children }: { readonly title: string; readonly children: ComponentChildren },
) {
  const element = useRef<HTMLDialogElement>(null);
  // Before the next key comes, which is meant for it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const own = element.current;
    own?.showModal();
    return () => {
      // A closed dialog has given focus back by itself, and one may have moved on since.
      if (own?.open === true && before instanceof HTMLElement) before.focus();
    };
  }, []);
  // At once: a key may open the next one before the browser tells that this one has closed.
  const close = () => {
    element.current?.close();
    dialog.value = undefined;
  };
  return (
    <dialog
      ref={element}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClose={(event) => {
        // What was taken away already says nothing about the one that is open now.
        if (event.currentTarget.isConnected) dialog.value = undefined;
      }}
      onClick={(event) => {
        if (event.target === element.current) close();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-bar">
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="small quiet" onClick={close}>
            Close
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
