/**
 * Keeps a scrolled view in place while content above it is added or removed. Browsers do this only
 * in part: not at the very top, and not all browsers.
 *
 * @module
 */

/** An element on the screen, and its position. */
export interface Place {
  readonly element: Element;
  readonly top: number;
}

/** Anchors within a message: the message itself may grow above the view. */
const PARTS = ":scope > .ask, :scope > .answer > :not(.earlier)";

/** Returns the first anchor on the screen. */
export function placeIn(pane: HTMLElement): Place | undefined {
  const { top } = pane.getBoundingClientRect();
  const isBelow = (element: Element) => element.getBoundingClientRect().bottom > top;
  const articles = [...pane.querySelectorAll("[data-article]")];
  const article = articles.find(isBelow);
  const part = article === undefined
    ? undefined
    : [...article.querySelectorAll(PARTS)].find(isBelow);
  const element = part ?? article;
  return element === undefined ? undefined : { element, top: element.getBoundingClientRect().top };
}

/** Scrolls the element back to its position. */
export function holdPlace(pane: HTMLElement, place: Place | undefined): void {
  if (place === undefined || !place.element.isConnected) return;
  pane.scrollTop += place.element.getBoundingClientRect().top - place.top;
}
