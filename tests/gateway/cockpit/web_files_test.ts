/**
 * The page's files as a browser receives them: types, cache lifetimes, encodings, policy.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  chooseEncoding,
  CONTENT_SECURITY_POLICY,
  openWebFiles,
} from "gateway/cockpit/web_files.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const LISTING = JSON.stringify({
  source: "x",
  files: [
    {
      path: "/assets/page-1.js",
      file: "page-1.js",
      type: "text/javascript; charset=utf-8",
      isHashed: true,
    },
    { path: "/icon.svg", file: "icon.svg", type: "image/svg+xml", isHashed: false },
  ],
});

function builtFiles() {
  return memoryFiles({
    "/web/web.json": LISTING,
    "/web/page.html": '<html data-agent="" data-viewer="" data-fleet="" data-logout=""></html>',
    "/web/page-1.js": "whole",
    "/web/page-1.js.gz": "gzipped",
    "/web/page-1.js.br": "brotli",
    "/web/icon.svg": "<svg/>",
  });
}

const MIA = { agent: "mia", email: "mia@example.org", isAdmin: false, canLogOut: false };

function asked(headers: Record<string, string> = {}): Request {
  return new Request("http://localhost/", { headers });
}

Deno.test("page() names the viewer's own agent and revalidates", async () => {
  const web = await openWebFiles(builtFiles(), "/web");
  const first = await web.page(asked(), MIA);
  assert.ok(first.ok);
  assert.equal(
    await first.value.text(),
    '<html data-agent="mia" data-viewer="mia@example.org" data-fleet="" data-logout=""></html>',
  );
  assert.equal(first.value.headers.get("content-type"), "text/html; charset=utf-8");
  assert.match(first.value.headers.get("cache-control") ?? "", /no-cache/);
  const etag = first.value.headers.get("etag") ?? "";
  const again = await web.page(asked({ "if-none-match": etag }), MIA);
  assert.ok(again.ok);
  assert.equal(again.value.status, 304);
  assert.deepEqual([...again.value.headers.keys()], ["cache-control", "etag"]);
  const other = await web.page(asked({ "if-none-match": etag }), undefined);
  assert.ok(other.ok);
  assert.equal(other.value.status, 200, "another viewer has another page");
  const admin = await web.page(asked({ "if-none-match": etag }), {
    ...MIA,
    isAdmin: true,
    canLogOut: true,
  });
  assert.ok(admin.ok);
  assert.match(await admin.value.text(), /data-fleet="yes" data-logout="yes"/);
});

Deno.test("page() never lets a name become markup", async () => {
  const web = await openWebFiles(builtFiles(), "/web");
  const page = await web.page(asked(), { ...MIA, agent: '"><b>', email: "a'&<b>\"$&@x" });
  assert.ok(page.ok);
  assert.equal(
    await page.value.text(),
    '<html data-agent="&#34;&#62;&#60;b&#62;" ' +
      'data-viewer="a&#39;&#38;&#60;b&#62;&#34;$&#38;@x" data-fleet="" data-logout=""></html>',
  );
});

Deno.test("file() returns the encoding that the browser accepts, each with its ETag", async () => {
  const web = await openWebFiles(builtFiles(), "/web");
  const tags = new Set<string>();
  for (
    const [accepted, encoding, body] of [
      ["gzip, deflate, br, zstd", "br", "brotli"],
      ["gzip", "gzip", "gzipped"],
      ["", null, "whole"],
    ] as const
  ) {
    const got = web.file(asked({ "accept-encoding": accepted }), "/assets/page-1.js");
    assert.ok(got.ok);
    assert.equal(got.value.headers.get("content-encoding"), encoding);
    assert.equal(await got.value.text(), body);
    assert.equal(got.value.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(got.value.headers.get("vary"), "accept-encoding");
    tags.add(got.value.headers.get("etag") ?? "");
  }
  assert.equal(tags.size, 3);
  const icon = web.file(asked({ "accept-encoding": "br" }), "/icon.svg");
  assert.ok(icon.ok);
  assert.equal(icon.value.headers.get("content-encoding"), null);
  assert.equal(icon.value.headers.get("cache-control"), "no-cache");
});

Deno.test("every answer has the content security policy", async () => {
  const web = await openWebFiles(builtFiles(), "/web");
  const page = await web.page(asked(), MIA);
  const file = web.file(asked(), "/icon.svg");
  for (const got of [page, file]) {
    assert.ok(got.ok);
    assert.equal(got.value.headers.get("content-security-policy"), CONTENT_SECURITY_POLICY);
    assert.equal(got.value.headers.get("referrer-policy"), "no-referrer");
  }
  assert.match(CONTENT_SECURITY_POLICY, /default-src 'none'.*require-trusted-types-for 'script'/);
  assert.doesNotMatch(CONTENT_SECURITY_POLICY, /unsafe|\*|https?:/);
});

Deno.test("file() refuses unknown files with route-unknown", async () => {
  const web = await openWebFiles(builtFiles(), "/web");
  for (const path of ["/assets/other.js", "/assets/../web.json", "/web.json", "/page.html"]) {
    const got = web.file(asked(), path);
    assert.ok(!got.ok);
    assert.equal(got.error.code, "route-unknown");
  }
});

Deno.test("openWebFiles() fails with page-missing without a complete build", async () => {
  const half = { "/web/page.html": "<html>", "/web/web.json": LISTING };
  const broken = { "/web/page.html": "<html>", "/web/web.json": "{" };
  for (const files of [{}, half, broken]) {
    const web = await openWebFiles(memoryFiles(files), "/web");
    const page = await web.page(asked(), MIA);
    assert.ok(!page.ok);
    assert.equal(page.error.code, "page-missing");
    assert.ok(!web.file(asked(), "/icon.svg").ok);
  }
});

Deno.test("chooseEncoding() honours weights and refusals", () => {
  const all = ["br", "gzip", "identity"] as const;
  assert.equal(chooseEncoding("br;q=0, gzip", all), "gzip");
  assert.equal(chooseEncoding("*", all), "br");
  assert.equal(chooseEncoding("*;q=0", all), "identity");
  assert.equal(chooseEncoding("GZIP;q=0.5", all), "gzip");
  assert.equal(chooseEncoding("br", ["identity"]), "identity");
});
