/**
 * The pages: login form, logout confirmation, insecure origin, and errors. Text only; the routes
 * decide who sees which.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type Html, html, NO_HTML, page } from "login/pages/page.ts";

/** Content of the login form. */
export interface LoginForm {
  readonly token: string;
  /** A safe return path. */
  readonly next: string;
  /** The name that the user typed before. */
  readonly name?: string;
  readonly error?: string;
}

/** Renders the login form. */
export function loginPage(
  form: LoginForm,
  how: { readonly status?: number; readonly headers?: Headers } = {},
): Response {
  const { error, token, next, name = "" } = form;
  const errorText: Html = error === undefined
    ? NO_HTML
    : html`<p class="error" id="error" role="alert">${error}</p>`;
  const marks: Html = error === undefined ? NO_HTML : html`
    aria-invalid="true" aria-describedby="error"
  `;
  const main = html`
    <h1>Log in</h1>
    <p class="quiet">fleetctl cockpit</p>
    ${errorText}
    <form method="post" action="/auth/login">
      <input type="hidden" name="csrf" value="${token}">
      <input type="hidden" name="next" value="${next}">
      <label for="user">E-mail address</label>
      <input id="user" name="user" type="text" inputmode="email" autocomplete="username"
        maxlength="254" autocapitalize="none" spellcheck="false" required value="${name}"
        ${marks}${name === ""
          ? html`
            autofocus
          `
          : NO_HTML}>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password"
        maxlength="1024" required${marks}${name === "" ? NO_HTML : html`
          autofocus
        `}>
      <button type="submit">Log in</button>
    </form>
  `;
  const title = error === undefined ? "Log in · fleetctl" : "Error: log in · fleetctl";
  return page({ title, main }, how);
}

/** Asks the user to confirm a logout, because another site may have requested it. */
export function logoutPage(): Response {
  return page({
    title: "Log out · fleetctl",
    main: html`<h1>Log out?</h1>
<p>You are still logged in. A link on another page may have brought you here.</p>
<form method="post" action="/auth/logout"><button type="submit">Log out</button></form>
<p><a href="/">Back to the cockpit</a></p>`,
  });
}

/** Reports a logout, after which the user may still be signed in at the provider. */
export function signedOutPage(): Response {
  return page({
    title: "Logged out · fleetctl",
    main: html`<h1>You are logged out</h1>
<p>You may still be signed in at your identity provider. On a shared computer, sign out there
  too.</p>
<p><a class="button" href="/auth/login">Log in again</a></p>`,
  });
}

/** Explains why login does not work at this address, and what does. */
export function insecureOriginPage(at: {
  readonly host: string;
  /** Name of the machine, for the SSH command. */
  readonly machine: string;
  /** Where the login proxy listens on that machine. */
  readonly target: string;
  readonly port: number;
  readonly publicUrl: string | undefined;
}): Response {
  const local = `http://localhost:${at.port}/`;
  const command = `ssh -N -L ${at.port}:${at.target} ${at.machine}`;
  const other = at.publicUrl === undefined ? NO_HTML : html`<p>This site also has a secure address:
      <a href="${at.publicUrl}">${at.publicUrl}</a></p>`;
  return page({
    title: "Not a secure address · fleetctl",
    isWide: true,
    main: html`
      <h1>You cannot log in at this address</h1>
      <p>You have opened <code>http://${at
        .host}</code>. Over plain http your browser does not stay logged in, and
      an attacker on the network could read your password. It works over https, and on
      <code>localhost</code>.</p>
      ${other}
      <p>With an account on the machine, run this on the computer in front of you and leave it
      open:</p>
      <pre><code>${command}</code></pre>
      <p>Then open <a href="${local}">${local}</a>.</p>
      <p
        class="quiet">For all other users: put an HTTPS proxy in front of port ${String(
          at.port,
        )} and set <code>WEBVIEW_URL</code>.</p>
    `,
  }, { status: 403 });
}

/** Shows an error to a browser that requested a page. */
export function faultPage(fault: {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  readonly requestId: string;
  readonly headers?: Headers;
}): Response {
  return page({
    title: `${fault.title} · fleetctl`,
    main: html`<h1>${fault.title}</h1>
<p>${fault.text}</p>
<p><a href="/">Try again</a></p>
<p class="quiet">Request <code>${fault.requestId}</code></p>`,
  }, {
    status: fault.status,
    ...defined({ headers: fault.headers }),
  });
}
