/**
 * Short requests over TLS reach only a host with a matching and trusted certificate; nothing is
 * sent to any other.
 *
 * @module
 */

import assert from "node:assert/strict";
import { HttpCallFault } from "core/http1/http_call.ts";
import { openHttpCalls } from "core/http1/os/http_call.ts";

const OK = "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";

interface Row {
  readonly what: string;
  /** The name in the certificate. */
  readonly san: string;
  readonly isTrusted: boolean;
  readonly alpn?: readonly string[];
  readonly comes: "201" | "unmade";
}

const ROWS: readonly Row[] = [
  { what: "a valid certificate", san: "IP:127.0.0.1", isTrusted: true, comes: "201" },
  {
    what: "a server of both versions",
    san: "IP:127.0.0.1",
    isTrusted: true,
    alpn: ["h2", "http/1.1"],
    comes: "201",
  },
  { what: "an untrusted certificate", san: "IP:127.0.0.1", isTrusted: false, comes: "unmade" },
  {
    what: "a certificate of another host",
    san: "DNS:other.test",
    isTrusted: true,
    comes: "unmade",
  },
  {
    what: "a server without HTTP/1.1",
    san: "IP:127.0.0.1",
    isTrusted: true,
    alpn: ["h2"],
    comes: "unmade",
  },
];

for (const { what, san, isTrusted, alpn = ["http/1.1"], comes } of ROWS) {
  Deno.test(`${what}: ${comes}`, async () => {
    const { cert, key } = await certificate(san);
    const listener = Deno.listenTls({
      hostname: "127.0.0.1",
      port: 0,
      cert,
      key,
      alpnProtocols: [...alpn],
    });
    let received = "";
    const serving = (async () => {
      for await (const connection of listener) {
        const buffer = new Uint8Array(16 * 1024);
        try {
          for (;;) {
            const read = await connection.read(buffer);
            if (read === null) break;
            received += new TextDecoder().decode(buffer.subarray(0, read));
            if (received.endsWith("the body")) await connection.write(new TextEncoder().encode(OK));
          }
        } catch {
          // The client disconnects during the handshake.
        }
        connection.close();
      }
    })().catch(() => {});
    const calls = openHttpCalls(isTrusted ? { caCerts: [cert] } : {});
    const { port } = listener.addr as Deno.NetAddr;
    const asked = () =>
      calls.call({
        method: "POST",
        url: `https://127.0.0.1:${port}/x`,
        headers: {},
        body: "the body",
        answerBytesMax: 100,
        timeoutMs: 20_000,
      }).then(({ status }) => String(status), (thrown) => (thrown as HttpCallFault).reason);
    try {
      assert.equal(await asked(), comes);
      assert.equal(await asked(), comes);
      assert.equal(received.split("the body").length - 1, comes === "201" ? 2 : 0);
      if (comes === "unmade") assert.equal(received, "");
    } finally {
      calls.close();
      listener.close();
      await serving;
    }
  });
}

async function certificate(san: string): Promise<{ readonly cert: string; readonly key: string }> {
  const folder = await Deno.makeTempDir({ prefix: "call-tls-" });
  try {
    const made = await new Deno.Command("openssl", {
      args: [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=x",
        "-addext",
        `subjectAltName=${san}`,
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-keyout",
        `${folder}/key`,
        "-out",
        `${folder}/cert`,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    assert.ok(made.success, new TextDecoder().decode(made.stderr));
    return {
      cert: await Deno.readTextFile(`${folder}/cert`),
      key: await Deno.readTextFile(`${folder}/key`),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
