/**
 * Hosts of files: in settings, and in the addresses that are checked against them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { checkFileUrl, checkInlineUrl, fileOrigin } from "core/net/file_url.ts";
import { parseHostRoles, printHostRoles } from "core/ledger/host_roles.ts";

Deno.test("fileOrigin() accepts host names, and plain http only for this machine", () => {
  assert.equal(fileOrigin("Contoso-My.sharepoint.com"), "https://contoso-my.sharepoint.com");
  assert.equal(fileOrigin("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
  for (
    const host of [
      "",
      "*",
      "*.sharepoint.com",
      ".sharepoint.com",
      "localhost",
      "10.0.0.1",
      "[::1]",
      "https://a.test",
      "http://a.test",
      "a.test/",
      "a.test:443",
      "a..test",
      "user@a.test",
    ]
  ) assert.equal(fileOrigin(host), undefined, host);
});

Deno.test("checkFileUrl() compares whole origins, however an address is spelled", () => {
  const origins = new Set(["https://a.test"]);
  for (const url of ["https://a.test/x?tempauth=1", "https://A.test/x", "https://a.test:443/"]) {
    assert.equal(checkFileUrl(url, origins).ok, true, url);
  }
  for (
    const url of [
      "http://a.test/",
      "https://a.test:8443/",
      "https://b.a.test/",
      "https://a.test.b.test/",
      "https://a.test./",
      "https://a.test@b.test/",
      "https://b.test@a.test/",
      "//a.test/",
      "",
      "https://a.test\\@b.test/",
      "https:/a.test/",
      "https://\u0430.test/",
      "ftp://a.test/",
      " https://a.test/",
      "https://a.test/\n",
      `https://a.test/${"x".repeat(9_000)}`,
    ]
  ) assert.equal(checkFileUrl(url, origins).ok, false, url);
});

Deno.test("checkInlineUrl() accepts URLs below the conversation's attachments", () => {
  const base = "https://smba.test/emea";
  const is = (path: string) => checkInlineUrl(`https://smba.test${path}`, base).ok;
  assert.ok(is("/emea/v3/attachments/0-weu/views/original"));
  for (
    const path of [
      "/v3/attachments/x",
      "/emea/v3/conversations/x",
      "/amer/v3/attachments/x",
      "/emea/v3/attachments/../conversations",
      "/emea/v3/attachments/%2e%2e/x",
      "/emea/v3/attachments/x?y",
      "/emea/v3/attachments/a%2fb",
      "/emea/v3/attachments/x#y",
    ]
  ) assert.ok(!is(path), path);
  assert.ok(!checkInlineUrl("https://evil.test/emea/v3/attachments/x", base).ok);
});

Deno.test("file_hosts of roles.yaml are kept; an invalid host name is refused", () => {
  const text = "teamchat:\n  listen: 127.0.0.1:3978\n  file_hosts: a.test,b.test\n";
  const roles = parseHostRoles(text, "roles.yaml");
  assert.ok(roles.ok);
  assert.equal(roles.value.teamchat?.fileHosts, "a.test,b.test");
  const again = parseHostRoles(printHostRoles(roles.value), "roles.yaml");
  assert.deepEqual(again, roles);
  const wrong = parseHostRoles(text.replace("b.test", "*.test"), "roles.yaml");
  assert.ok(!wrong.ok);
  assert.match(wrong.error.details.join(), /3.*file_hosts.*must be host names/);
});
