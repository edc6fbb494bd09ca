/**
 * The page's dialogs, built on `<dialog>`: focus stays inside, Escape closes, focus is restored.
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
    // The hosts part renders it.
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

/** One dialog. Closing it in any way leaves no dialog open. */
export function Dialog(
  { title, children }: { readonly title: string; readonly children: ComponentChildren },
) {
  const element = useRef<HTMLDialogElement>(null);
  // Runs before the next key event, which is meant for the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const own = element.current;
    own?.showModal();
    return () => {
      // A dialog that is already closed has restored the focus, and it may have moved since.
      if (own?.open === true && before instanceof HTMLElement) before.focus();
    };
  }, []);
  // Runs at once: a key may open the next dialog before the browser's `close` event.
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
        // A removed element must not close the dialog that is open now.
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
