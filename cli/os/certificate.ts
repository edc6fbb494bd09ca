/**
 * Reads the certificate that a TLS server presents, whether it is trusted or not. Callers need its
 * validity period and its names. Sends nothing after the handshake.
 *
 * @module
 */

import tls from "node:tls";
import type { ServedCertificate } from "cli/verb_ports.ts";

/**
 * Connects to an address as a client of `name`. Rejects when the handshake does not finish in time.
 */
export function readCertificate(
  of: { readonly address: string; readonly port: number; readonly name: string },
  timeoutMs: number,
): Promise<ServedCertificate> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({
      host: of.address,
      port: of.port,
      servername: of.name,
      // Expired certificates must be readable too, and no secret is sent.
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
      const dnsNames = [...names.matchAll(/DNS:([^,\s]+)/g)].map(([, name = ""]) => name);
      const commonName = String(subject?.CN ?? "");
      resolve({
        fromMs: Date.parse(from),
        toMs: Date.parse(to),
        names: dnsNames.length > 0 ? dnsNames : [commonName],
      });
    });
  });
}
