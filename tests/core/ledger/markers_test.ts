/**
 * The host file: hostnames only, faults by line, edits that preserve comments.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  checkMarker,
  editMarkers,
  isGatewayHost,
  NO_MARKERS,
  parseMarkers,
} from "core/ledger/markers.ts";
import type { HostName } from "core/names.ts";

const FILE = "/etc/fleetctl/host.yaml";
const ATLAS = "atlas" as HostName;

Deno.test("parseMarkers() reads markers; an absent or empty file has none", () => {
  const text =
    "webview_gateway: Atlas.\nteams_gateway: teams.example.org\ndial_require_key: true\n";
  assert.deepEqual(parseMarkers(text, FILE), {
    ok: true,
    value: {
      webviewGateway: { host: "atlas", isTls: false, port: undefined },
      teamsGateway: "teams.example.org",
      isDialKeyRequired: true,
    },
  });
  assert.deepEqual(parseMarkers("webview_gateway: wss://Atlas.example.org:8443\n", FILE), {
    ok: true,
    value: {
      webviewGateway: { host: "atlas.example.org", isTls: true, port: 8443 },
      isDialKeyRequired: false,
    },
  });
  for (
    const empty of [undefined, "", "# nothing yet\n", "webview_gateway:\n", "webview_gateway: ''\n"]
  ) {
    assert.deepEqual(parseMarkers(empty, FILE), { ok: true, value: NO_MARKERS });
  }
});

Deno.test("parseMarkers() refuses addresses, unknown keys and wrong types", () => {
  const text = "webview_gateway: wss://10.0.0.7\nteams_gateway: 'fe80::1'\ngateway: atlas\n" +
    "dial_require_key: yes please\n";
  const parsed = parseMarkers(text, FILE);
  assert(!parsed.ok);
  assert.equal(parsed.error.code, "host-file-invalid");
  assert.equal(parsed.error.message, `Cannot read the host file "${FILE}": 4 faults`);
  assert.deepEqual(parsed.error.details, [
    `${FILE}:3: gateway: unknown key, must be one of webview_gateway, teams_gateway, ` +
    "dial_require_key",
    `${FILE}:1: webview_gateway: is "wss://10.0.0.7", must be a hostname, not an IP address`,
    `${FILE}:2: teams_gateway: is "fe80::1", must be a hostname, not an IP address`,
    `${FILE}:4: dial_require_key: must be true or false`,
  ]);
});

Deno.test("editMarkers() sets and clears markers and keeps comments", () => {
  const text = "# this host\nteams_gateway: atlas # the old one\n";
  const edited = editMarkers(text, {
    webview_gateway: ATLAS,
    teams_gateway: "boreas" as HostName,
  }, FILE);
  assert.deepEqual(edited, {
    ok: true,
    value: "# this host\nteams_gateway: boreas # the old one\nwebview_gateway: atlas\n",
  });
  const cleared = editMarkers(text, { teams_gateway: undefined }, FILE);
  assert.deepEqual(parseMarkers(cleared.ok ? cleared.value : "x", FILE), {
    ok: true,
    value: NO_MARKERS,
  });
  assert.deepEqual(editMarkers(text, { teams_gateway: ATLAS }, FILE), { ok: true, value: text });
  assert.deepEqual(editMarkers(undefined, { dial_require_key: true }, FILE), {
    ok: true,
    value: "dial_require_key: true\n",
  });
  const broken = editMarkers("webview_gateway: [", { dial_require_key: true }, FILE);
  assert.equal(broken.ok ? "" : broken.error.code, "host-file-invalid");
});

for (
  const [marker, given, want] of [
    ["webview_gateway", " Atlas. ", "atlas"],
    ["webview_gateway", "wss://Atlas", "wss://atlas"],
    ["webview_gateway", "wss://atlas:443/", "wss://atlas:443"],
    ["webview_gateway", "ws://atlas", "atlas"],
    ["webview_gateway", "ws://atlas:9000", "ws://atlas:9000"],
    ["teams_gateway", "teams.example.org", "teams.example.org"],
    ["webview_gateway", "10.0.0.7", undefined],
    ["webview_gateway", "wss://10.0.0.7:443", undefined],
    ["webview_gateway", "[fe80::1]", undefined],
    ["webview_gateway", "0x7f.1", undefined],
    ["webview_gateway", "2130706433", undefined],
    ["webview_gateway", "https://atlas", undefined],
    ["webview_gateway", "wss://ada:pw@atlas", undefined],
    ["webview_gateway", "atlas\nteams_gateway: eve", undefined],
    ["webview_gateway", "", undefined],
    ["teams_gateway", "wss://teams.example.org", undefined],
    ["teams_gateway", "127.0.0.1", undefined],
  ] as const
) {
  Deno.test(`checkMarker() ${want ? "allows" : "fails"} ${JSON.stringify(given)} ${marker}`, () => {
    const checked = checkMarker(marker, given);
    assert.equal(checked.ok ? checked.value : undefined, want);
    if (want !== undefined) assert.deepEqual(checkMarker(marker, want), { ok: true, value: want });
  });
}

Deno.test("isGatewayHost() compares the marker with the hostname", () => {
  assert(isGatewayHost(undefined, ATLAS));
  assert(isGatewayHost(ATLAS, ATLAS));
  assert(isGatewayHost({ host: ATLAS, isTls: true, port: undefined }, ATLAS));
  assert(!isGatewayHost("boreas" as HostName, ATLAS));
});
