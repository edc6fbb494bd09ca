/**
 * Text shown verbatim, shortened until the reader presses "Show all".
 *
 * @module
 */

import { useState } from "preact/hooks";
import { Icon } from "gateway/web/view/icons.tsx";

/** Characters and lines that are rendered before "Show all". */
const CHARS_MAX = 8_000;
const LINES_MAX = 200;

/** Returns the first part of a text, and whether it is complete. */
export function headOf(text: string): { readonly head: string; readonly isWhole: boolean } {
  let end = Math.min(text.length, CHARS_MAX);
  for (let at = 0, lines = 0; at < end; at++) {
    if (text.charCodeAt(at) === 10 && ++lines === LINES_MAX) end = at;
  }
  return end >= text.length ? { head: text, isWhole: true } : {
    // Never cut a surrogate pair.
    head: text.slice(0, end).toWellFormed().replace(/\ufffd$/, ""),
    isWhole: false,
  };
}

/** A text with its line breaks, in a scrolling box. */
export function LongText(
  { text, label = "Text" }: { readonly text: string; readonly label?: string },
) {
  const [isOpen, setOpen] = useState(false);
  const { head, isWhole } = headOf(text);
  return (
    <div class="long">
      <pre tabIndex={0} role="group" aria-label={label}>{isOpen ? text : head}</pre>
      {isWhole ? null : (
        <button type="button" class="small" onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`}
        </button>
      )}
    </div>
  );
}

/** A block of code with its language and a button that copies it. */
export function CodeBlock(
  { text, language }: { readonly text: string; readonly language: string },
) {
  const [isCopied, setCopied] = useState(false);
  const name = language.slice(0, 24);
  return (
    <div class="code">
      <div class="code-bar">
        <span class="faint">{name}</span>
        <span class="spacer" />
        <button
          type="button"
          class="quiet small"
          onClick={() => {
            void copyText(text).then(setCopied);
          }}
        >
          <Icon name="copy" /> {isCopied ? "Copied" : "Copy"}
        </button>
      </div>
      <LongText text={text} label={name === "" ? "Code" : `Code, ${name}`} />
    </div>
  );
}

/** Copies a text; returns false when the browser refuses. */
async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard !== undefined) {
      await navigator.clipboard.writeText(text);
      return true;
    }
    // Over plain HTTP, this is the only clipboard API.
    const before = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return isDone;
  } catch {
    return false;
  }
}
