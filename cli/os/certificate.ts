/**
 * The certificate that a TLS server presents, whether it is trusted or not: what matters here is
 * for how long it is good, and for which names. Nothing is sent after the handshake.
 *
 * @module
 */

import tls from "node:tls";
import type { ServedCertificate } from "cli/verb_ports.ts";

/** Connects to an address as a client of `name`; rejects when there is no handshake in time. */
export function readCertificate(
  of: { readonly address: string; readonly port: number; readonly name: string },
  timeoutMs: number,
): Promise<ServedCertificate> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({
      host: of.address,
      port: of.port,
      servername: of.name,
      // An expired one is what is looked for, and no secret is sent.
      rejectUnauthorized: false,
    });
    const fail = (thrown: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(thrown);
    };
    const timer = setTimeout(
      () => fail(new Error(`no TLS handshake within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    socket.on("error", fail);
    socket.on("secureConnect", () => {
      const { valid_from: from, valid_to: to, subjectaltname: names = "", subject } = socket
        .getPeerCertificate();
      clearTimeout(timer);
      socket.destroy();
      const told = [...names.matchAll(/DNS:([^,\s]+)/g)].map(([, name = ""]) => name);
      const commonName = String(subject?.CN ?? "");
      resolve({
        fromMs: Date.parse(from),
        toMs: Date.parse(to),
        names: told.length > 0 ? told : [commonName],
      });
    });
  });
}
