/**
 * Keeps keyboard focus near a button that is removed after it was pressed.
 *
 * @module
 */

/** Runs a button's action. If the button is removed by it, its container gets the focus. */
export async function keepFocus(button: HTMLElement, act: () => Promise<void>): Promise<void> {
  const holder = button.closest<HTMLElement>("[data-article], .pane");
  const hadFocus = document.activeElement === button;
  await act();
  requestAnimationFrame(() => {
    if (hadFocus && !button.isConnected) holder?.focus({ preventScroll: true });
  });
}
