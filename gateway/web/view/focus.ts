/**
 * Keeps the place of who works with the keyboard when what they pressed goes away.
 *
 * @module
 */

/** Runs an action of a button; when the button is gone afterwards, what held it has the focus. */
export async function keepFocus(button: HTMLElement, act: () => Promise<void>): Promise<void> {
  const holder = button.closest<HTMLElement>("[data-article], .pane");
  const hadFocus = document.activeElement === button;
  await act();
  requestAnimationFrame(() => {
    if (hadFocus && !button.isConnected) holder?.focus({ preventScroll: true });
  });
}
