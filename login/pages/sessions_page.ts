/**
 * The page with a user's own sessions. Text only; the route decides what is listed and ended.
 *
 * @module
 */

import { type Html, html, NO_HTML, page } from "login/pages/page.ts";

/** One session as shown to its user. */
export interface ShownSession {
  /** Identifies the session in the form; grants no access. */
  readonly handle: string;
  /** Such as "Firefox on Linux". */
  readonly device: string;
  /** Address of the client at its login. */
  readonly place: string;
  readonly since: Date;
  readonly lastSeen: Date;
  /** The session of this request. */
  readonly isCurrent: boolean;
}

/** Renders the list in the given order. */
export function sessionsPage(
  principal: string,
  sessions: readonly ShownSession[],
): Response {
  const rows = sessions.map(sessionRow).reduce((all, row) => html`${all}${row}`, NO_HTML);
  const count = sessions.length === 1 ? "1 session" : `${sessions.length} sessions`;
  return page({
    title: "Your sessions · fleetctl",
    isWide: true,
    main: html`
      <h1>Your sessions</h1>
      <p
        class="quiet">${principal}, ${count}. End one that you do not recognize, and change your
        password.</p>
      <ul class="sessions">${rows}</ul>
      <form method="post" action="/auth/sessions">
        <input type="hidden" name="end" value="all">
        <button type="submit">End all sessions</button>
      </form>
      <p class="quiet">Ends this one too: you log in again. Times are UTC.</p>
      <p><a href="/">Back to the cockpit</a></p>
    `,
  });
}

function sessionRow(session: ShownSession): Html {
  const { handle, device, place, since, lastSeen, isCurrent } = session;
  const mark: Html = isCurrent
    ? html`
      <strong class="mark">this one</strong>
    `
    : NO_HTML;
  return html`
    <li>
      <div>
        <p class="device">${device}${mark}</p>
        <p class="quiet">from ${place}, since ${timeTag(since)}, last seen ${timeTag(lastSeen)}</p>
      </div>
      <form method="post" action="/auth/sessions">
        <input type="hidden" name="end" value="${handle}">
        <button type="submit" class="plain"
          aria-label="End the session on ${device}, since ${shownTime(since)}">End</button>
      </form>
    </li>
  `;
}

function timeTag(time: Date): Html {
  return html`<time datetime="${time.toISOString()}">${shownTime(time)}</time>`;
}

/** Without a script the page does not know the reader's time zone, so all times are UTC. */
function shownTime(time: Date): string {
  return time.toISOString().slice(0, 16).replace("T", " ");
}
