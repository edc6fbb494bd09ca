/**
 * The caller of a request: addresses, networks, and forged forwarding headers.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { callerOf } from "login/caller.ts";
import { clientKey, contains, parseIp, parseNetwork, parsePeer, printIp } from "core/net/ip.ts";

const TRUSTED = ["127.0.0.0/8", "::1", "10.0.0.0/8"].map((text) => parseNetwork(text)!);

const CLIENTS: readonly [string, string, Record<string, string>, string][] = [
  ["a peer without a proxy", "1.2.3.4:5", {}, "1.2.3.4"],
  ["a peer with a forged header", "1.2.3.4:5", { "x-forwarded-for": "9.9.9.9" }, "1.2.3.4"],
  ["a proxy", "127.0.0.1:5", { "x-forwarded-for": "9.9.9.9" }, "9.9.9.9"],
  [
    "a client that sends a forged header through a proxy",
    "127.0.0.1:5",
    { "x-forwarded-for": "6.6.6.6, 9.9.9.9" },
    "9.9.9.9",
  ],
  ["two proxies", "127.0.0.1:5", { "x-forwarded-for": "6.6.6.6, 9.9.9.9, 10.0.0.1" }, "9.9.9.9"],
  ["only proxies", "127.0.0.1:5", { "x-forwarded-for": "10.0.0.2, 10.0.0.1" }, "10.0.0.2"],
  ["a hop with a port", "127.0.0.1:5", { "x-forwarded-for": "9.9.9.9:80" }, "9.9.9.9"],
  ["an IPv6 hop", "[::1]:5", { "x-forwarded-for": "[2001:db8::1]:80" }, "2001:db8:0:0:0:0:0:1"],
  ["a mapped peer", "[::ffff:127.0.0.1]:5", { "x-forwarded-for": "9.9.9.9" }, "9.9.9.9"],
  ["nonsense", "127.0.0.1:5", { "x-forwarded-for": "a" }, "127.0.0.1"],
  [
    "garbage behind a proxy",
    "127.0.0.1:5",
    { "x-forwarded-for": "9.9.9.9, unknown" },
    "127.0.0.1",
  ],
  ["an empty header", "127.0.0.1:5", { "x-forwarded-for": "" }, "127.0.0.1"],
  ["X-Real-IP", "127.0.0.1:5", { "x-real-ip": "9.9.9.9" }, "9.9.9.9"],
  [
    "both headers",
    "127.0.0.1:5",
    { "x-real-ip": "6.6.6.6", "x-forwarded-for": "9.9.9.9" },
    "9.9.9.9",
  ],
  ["X-Real-IP from an untrusted peer", "1.2.3.4:5", { "x-real-ip": "9.9.9.9" }, "1.2.3.4"],
  ["no peer", "unix", {}, "unknown"],
];
for (const [name, peer, headers, wanted] of CLIENTS) {
  Deno.test(`callerOf() names the client of ${name}`, () => {
    assert.equal(callerOf(new Headers(headers), peer, TRUSTED).address, wanted);
  });
}

Deno.test("callerOf() trusts scheme and host only from a trusted proxy", () => {
  const headers = new Headers({
    host: "inner:1",
    "x-forwarded-host": "fleet.example.org",
    "x-forwarded-proto": "https",
  });
  const own = callerOf(headers, "127.0.0.1:1", TRUSTED);
  assert.deepEqual([own.scheme, own.host], ["https", "fleet.example.org"]);
  const other = callerOf(headers, "1.2.3.4:1", TRUSTED);
  assert.deepEqual([other.scheme, other.host], ["http", "inner:1"]);
});

Deno.test("callerOf() checks a bounded number of hops", () => {
  const headers = new Headers({ "x-forwarded-for": Array(10_000).fill("10.0.0.1").join(",") });
  const { forwardedFor } = callerOf(headers, "127.0.0.1:1", TRUSTED);
  assert.ok(forwardedFor.split(",").length <= 33);
});

Deno.test("clientKey() is one for all spellings of an address and for one /64", () => {
  const key = (text: string) => clientKey(parseIp(text)!);
  assert.equal(key("::ffff:1.2.3.4"), key("1.2.3.4"));
  assert.equal(key("2001:DB8:0:0::1"), key("2001:db8::ffff:ffff:ffff:ffff"));
  assert.equal(key("fe80::1%eth0"), key("fe80::2"));
  assert.notEqual(key("2001:db8:0:1::1"), key("2001:db8:0:2::1"));
  assert.notEqual(key("1.2.3.4"), key("1.2.3.5"));
});

Deno.test("parseIp() refuses text that is not an address", () => {
  const rows = ["", "1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "1.2.3.-4", "a.b.c.d"]
    .concat(["::1::", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "g::"])
    .concat(["::12345", "1.2.3.4::", "::1.2.3.4:5", "0x7f.1", "２.2.2.2", " 1.2.3.4"]);
  for (const row of rows) assert.equal(parseIp(row), undefined, row);
});

Deno.test("parseIp() reads the output of printIp()", () => {
  fc.assert(fc.property(fc.ipV4(), (text) => assert.equal(printIp(parseIp(text)!), text)));
  fc.assert(fc.property(fc.ipV6(), (text) => {
    const address = parseIp(text);
    assert.ok(address !== undefined, text);
    assert.deepEqual(parseIp(printIp(address)), address);
    assert.deepEqual(parsePeer(`[${text}]:80`), address);
  }));
});

Deno.test("holds() compares whole prefixes", () => {
  const rows: readonly [string, string, boolean][] = [
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.0.0.0/9", "10.128.0.0", false],
    ["1.2.3.4", "1.2.3.4", true],
    ["1.2.3.4/32", "1.2.3.5", false],
    ["::/1", "1.2.3.4", false],
    ["2001:db8::/32", "2001:db8:1::1", true],
    ["2001:db8::/32", "2001:db9::1", false],
  ];
  for (const [network, address, wanted] of rows) {
    assert.equal(
      contains(parseNetwork(network)!, parseIp(address)!),
      wanted,
      `${network} ${address}`,
    );
  }
  for (const bad of ["10.0.0.0/33", "::/129", "10.0.0.0/", "/8", "10.0.0.0/-1", "10.0.0.0/8/8"]) {
    assert.equal(parseNetwork(bad), undefined, bad);
  }
});
