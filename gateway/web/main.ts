/**
 * Composition root of the page: renders and starts it.
 *
 * @module
 */

import { h, render } from "preact";
import { startApp } from "gateway/web/app/actions.ts";
import { Shell } from "gateway/web/view/shell.tsx";

const place = document.getElementById("app");
if (place !== null) {
  place.replaceChildren();
  render(h(Shell, null), place);
  void startApp();
}
