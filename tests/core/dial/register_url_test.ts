/** Tests of the register URL. @module */

import assert from "node:assert/strict";
import { parseRegisterUrl, registerUrl } from "core/dial/register_url.ts";
import { parseGatewayMarker } from "core/ledger/markers.ts";
import { parseHostName } from "core/names.ts";

function host(text: string) {
  const name = parseHostName(text);
  assert.ok(name.ok);
  return name.value;
}

const rows = [
  { name: "no marker exists", marker: undefined, want: "ws://127.0.0.1:8735" },
  { name: "the gateway is this host", marker: "atlas", want: "ws://127.0.0.1:8735" },
  { name: "the marker's spelling differs", marker: " ATLAS. ", want: "ws://127.0.0.1:8735" },
  { name: "the gateway is another host", marker: "castor", want: "ws://castor:8735" },
  { name: "the marker names a TLS gateway", marker: "wss://castor", want: "wss://castor" },
  { name: "the TLS gateway has a port", marker: "wss://castor:8443", want: "wss://castor:8443" },
  { name: "the marker states a port", marker: "ws://castor:9000", want: "ws://castor:9000" },
  { name: "the TLS gateway is this host", marker: "wss://atlas", want: "ws://127.0.0.1:8735" },
];
for (const { name, marker, want } of rows) {
  Deno.test(`registerUrl() is ${want} when ${name}`, () => {
    const parsed = marker === undefined ? undefined : parseGatewayMarker(marker);
    const value = parsed?.ok === true ? parsed.value : undefined;
    assert.equal(value === undefined, marker === undefined);
    assert.equal(registerUrl({ marker: value, hostname: host("atlas") }), want);
  });
}

Deno.test("registerUrl() uses address and port of this installation's listener", () => {
  for (
    const [listen, want] of [
      ["0.0.0.0:18735", "ws://127.0.0.1:18735"],
      ["[::]:18735", "ws://127.0.0.1:18735"],
      ["127.0.0.1:9", "ws://127.0.0.1:9"],
      ["10.1.2.3:8735", "ws://10.1.2.3:8735"],
      ["[::1]:8735", "ws://[::1]:8735"],
    ] as const
  ) {
    assert.equal(registerUrl({ marker: undefined, hostname: host("atlas"), listen }), want);
    const elsewhere = registerUrl({
      marker: { host: host("castor"), isTls: false, port: undefined },
      hostname: host("atlas"),
      listen,
    });
    assert.equal(elsewhere, `ws://castor:${listen.split(":").at(-1)}`);
  }
});

for (const text of ["", "10.0.0.7", "wss://10.0.0.7", "::1", "http://castor", "castor:0", "a b"]) {
  Deno.test(`parseGatewayMarker() refuses ${JSON.stringify(text)}`, () => {
    const parsed = parseGatewayMarker(text);
    assert.equal(parsed.ok, false);
    assert.ok(["marker-invalid", "name-invalid"].includes(parsed.ok ? "" : parsed.error.code));
  });
}

for (
  const text of ["", "castor:8735", "http://castor", "ws://user:pass@castor", "ws://castor/?a=1"]
) {
  Deno.test(`parseRegisterUrl() refuses ${JSON.stringify(text)} without repeating it`, () => {
    const parsed = parseRegisterUrl(text);
    assert.equal(parsed.ok ? "" : parsed.error.code, "register-url-invalid");
    assert.ok(!parsed.ok && !parsed.error.message.includes("pass"));
  });
}
