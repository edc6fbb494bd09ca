/**
 * Loaded before a vendor's SDK. Redirects its requests for the vendor's hosts to the bench's own
 * host on loopback (`FLEETCTL_WORLD`), so that it runs unchanged and offline. For other hosts,
 * `fetch` works unchanged and `https.request` throws.
 *
 * @module
 */

const http = require("node:http");
const https = require("node:https");

const world = new URL(process.env.FLEETCTL_WORLD);
const VENDOR = /(^|\.)(botframework\.com|microsoftonline\.com|windows\.net)$/;

function mapped(url) {
  return VENDOR.test(url.hostname) ? new URL(url.pathname + url.search, world) : url;
}

const plain = http.request;
https.request = function request(first, second, third) {
  const isUrl = typeof first === "string" || first instanceof URL;
  const options = isUrl ? (typeof second === "function" ? {} : second ?? {}) : first;
  const url = isUrl
    ? new URL(String(first))
    : new URL(`https://${options.hostname ?? options.host}${options.path ?? "/"}`);
  const done = typeof second === "function" ? second : third;
  const to = mapped(url);
  if (to === url) throw new Error(`the bench knows no ${url.origin}`);
  const { agent: _, ...kept } = options;
  return plain.call(http, {
    ...kept,
    protocol: "http:",
    host: to.hostname,
    hostname: to.hostname,
    port: to.port,
    path: to.pathname + to.search,
    agent: http.globalAgent,
  }, done);
};
https.get = (...args) => {
  const request = https.request(...args);
  request.end();
  return request;
};

const send = globalThis.fetch;
globalThis.fetch = (input, init) => {
  if (input instanceof Request) {
    const to = mapped(new URL(input.url));
    return send(to.href === input.url ? input : new Request(to, input), init);
  }
  return send(mapped(new URL(String(input))), init);
};
