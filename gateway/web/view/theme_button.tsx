/**
 * A button that cycles through the themes; the choice is stored on the device.
 *
 * @module
 */

import { chooseTheme } from "gateway/web/app/actions.ts";
import { theme, THEMES } from "gateway/web/app/model.ts";
import { Icon } from "gateway/web/view/icons.tsx";

const SIGNS = { system: "system", light: "sun", dark: "moon" } as const;
const WORDS = { system: "same as the device", light: "light", dark: "dark" } as const;

/** The button. */
export function ThemeButton() {
  const chosen = theme.value;
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length] ?? "system";
  const words = `Theme: ${WORDS[chosen]}. Change to ${WORDS[next]}`;
  return (
    <button
      type="button"
      class="quiet square"
      aria-label={words}
      title={words}
      onClick={() => chooseTheme(next)}
    >
      <Icon name={SIGNS[chosen]} />
    </button>
  );
}
