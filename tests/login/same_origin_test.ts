/**
 * Which origins count as the site's own, with and without an https address of the site.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isOwnOrigin } from "login/same_origin.ts";

const HTTPS = "https://fleet.example";
const ROWS: readonly [string, string, string | undefined, boolean][] = [
  ["https://fleet.example", "fleet.example", HTTPS, true],
  ["http://fleet.example", "fleet.example", HTTPS, false],
  ["http://10.0.0.5:8736", "10.0.0.5:8736", HTTPS, false],
  ["http://localhost:8736", "localhost:8736", HTTPS, true],
  ["http://127.0.0.1:8736", "127.0.0.1:8736", HTTPS, true],
  ["http://[::1]:8736", "[::1]:8736", HTTPS, true],
  ["http://ada.localhost:8736", "ada.localhost:8736", HTTPS, true],
  ["http://localhost:8736", "fleet.example", HTTPS, false],
  ["http://fleet.example", "fleet.example", undefined, true],
  ["https://fleet.example", "fleet.example", undefined, true],
  ["http://fleet.example", "fleet.example", "http://fleet.example", true],
  ["null", "fleet.example", undefined, false],
  ["https://fleet.example/", "fleet.example", undefined, false],
  ["https://evil.example", "fleet.example", HTTPS, false],
];
for (const [origin, host, publicOrigin, wanted] of ROWS) {
  const site = publicOrigin ?? "no WEBVIEW_URL";
  Deno.test(`isOwnOrigin() ${wanted ? "allows" : "refuses"} ${origin} at ${host} (${site})`, () => {
    assert.equal(isOwnOrigin(origin, { host }, publicOrigin), wanted);
  });
}
