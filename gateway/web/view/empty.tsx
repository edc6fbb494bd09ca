/**
 * The view of an agent without messages: a greeting and suggestions to click.
 *
 * @module
 */

import { sendText } from "gateway/web/app/actions.ts";
import { card, dialog } from "gateway/web/app/model.ts";
import { Icon } from "gateway/web/view/icons.tsx";

/** Messages that a click sends. */
const PROMPTS = ["last commit of this project", "what can you do"] as const;

/** The greeting. */
export function Empty({ agent }: { readonly agent: string }) {
  const name = agent.charAt(0).toUpperCase() + agent.slice(1);
  const isOffline = card.value?.state === "offline";
  return (
    <div class="empty">
      <Icon name="spark" />
      <h2>Hello, I am {name}.</h2>
      <p>
        {isOffline
          ? "I am offline right now. Messages you send will reach me when I am back."
          : "Ask me anything, or start with one of these."}
      </p>
      <ul class="prompts" role="list">
        {PROMPTS.map((prompt) => (
          <li key={prompt}>
            <button type="button" class="prompt" onClick={() => void sendText(prompt)}>
              {prompt}
              <Icon name="send" />
            </button>
          </li>
        ))}
        <li>
          <button type="button" class="prompt" onClick={() => dialog.value = "model"}>
            connect a real model
            <Icon name="chevron" />
          </button>
        </li>
      </ul>
    </div>
  );
}
