/**
 * Which `Set-Cookie` headers of the cockpit pass: none that a browser would send back under a
 * cookie name of the login proxy.
 *
 * @module
 */

import assert from "node:assert/strict";
import { responseHeaders } from "login/proxy/headers.ts";

const LINES: readonly (readonly [string, boolean])[] = [
  ["theme=dark; Path=/", true],
  ["theme=", true],
  ["theme=wv_session=x", true],
  ["my_wv_session=x", true],
  ["wv_session=x", false],
  ["WV_Session=x", false],
  [" \t wv_session=x", false],
  ["wv_session =x", false],
  ["__Host-wv_session=x", false],
  // Browsers store a value without a name, and send it back verbatim: `Cookie: wv_session=x`.
  ["=wv_session=x", false],
  [" = wv_session=x", false],
  ["==wv_session=x", false],
  ["=__Secure-wv_session=x", false],
  ["wv_session", false],
  ["dark", false],
  ["=dark", false],
  [" =dark; Path=/", false],
  ["; theme=dark", false],
  ["dark; Path=/", false],
  ["", false],
];

Deno.test("responseHeaders() drops the proxy's own cookies and those without a name", () => {
  for (const [line, passes] of LINES) {
    const kept = responseHeaders([["set-cookie", line]]).get("set-cookie");
    assert.equal(kept, passes ? line : null, JSON.stringify(line));
  }
});
