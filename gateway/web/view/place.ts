/**
 * Holds a scrolled view in place while something is put above it or taken away there. Browsers do
 * that themselves in part: not at the very top, and not all of them.
 *
 * @module
 */

/** Something on the screen, and where it was. */
export interface Place {
  readonly element: Element;
  readonly top: number;
}

/** What of a message may be held: the message itself goes on above the view. */
const PARTS = ":scope > .ask, :scope > .answer > :not(.earlier)";

/** Returns the first thing that is on the screen. */
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

/** Scrolls so that it is where it was. */
export function holdPlace(pane: HTMLElement, place: Place | undefined): void {
  if (place === undefined || !place.element.isConnected) return;
  pane.scrollTop += place.element.getBoundingClientRect().top - place.top;
}
