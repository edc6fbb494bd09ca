/**
 * Requests that the listener and `llhttp` read differently, each with the reason. A difference that
 * is not listed here fails the test.
 *
 * @module
 */

import {
  CONNECTION_TRAILER,
  type Difference,
  hasBrokenExtension,
  headOf,
  isMessage,
  type Known,
  reasonOf,
  SPACED_OPTION,
  valuesOf,
  withoutSpacedOptions,
} from "tests/core/http1/os/differences.ts";

const HOST = "Host: a\r\n";
const CHUNKED = `${HOST}Transfer-Encoding: chunked\r\n`;
/** A host, with or without a port. */
const PLAIN_HOST = /^[A-Za-z0-9._~!$&'()*+;=%:[\]-]+$/;
const WHOLE_ADDRESS = /^https?:\/\/([^/?]+)/i;

/** Matches when the listener refuses a head with `status` and `llhttp` accepts it. */
function refuses(status: string, about: (text: string) => boolean): Known["isIt"] {
  return ({ own, llhttp, text }) =>
    reasonOf(own) === status && reasonOf(llhttp) === "" && about(text);
}

/** Matches when `llhttp` refuses with `reason` and the listener does not. */
function accepts(reason: RegExp, about: (difference: Difference) => boolean): Known["isIt"] {
  return (difference) =>
    reasonOf(difference.own) === "" && reason.test(reasonOf(difference.llhttp)) &&
    about(difference);
}

function methodOf(text: string): string {
  return headOf(text).first.split(" ")[0] ?? "";
}
function targetOf(text: string): string {
  return headOf(text).first.split(" ")[1] ?? "";
}
function minorOf(text: string): string {
  return headOf(text).first.slice(-1);
}
function values(text: string, name: string): readonly string[] {
  return valuesOf(headOf(text), name);
}

/** Methods that `llhttp` knows, without those of other protocols. */
const KNOWN_METHODS =
  /^(?:DELETE|GET|HEAD|POST|PUT|CONNECT|OPTIONS|TRACE|COPY|LOCK|MKCOL|MOVE|PROPFIND|PROPPATCH|SEARCH|UNLOCK|BIND|REBIND|UNBIND|ACL|REPORT|MKACTIVITY|CHECKOUT|MERGE|M-SEARCH|NOTIFY|SUBSCRIBE|UNSUBSCRIBE|PATCH|PURGE|MKCALENDAR|LINK|UNLINK|QUERY)$/;
const CODING = "transfer-encoding";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;

/** The rows; the first match explains a difference. */
export const KNOWN_REQUESTS: readonly Known[] = [
  {
    name: "bytes that follow a chunked body at once",
    verdict: "stricter than llhttp",
    why: "The connection ends after the answer; a client that sends ahead must be ready for that.",
    section: "RFC 9112, 9.3.2",
    example: `POST / HTTP/1.1\r\n${CHUNKED}\r\n0\r\n\r\nGET / HTTP/1.1\r\n${HOST}\r\n`,
    isIt: ({ own, before }) =>
      !isMessage(own) && own.kind === "closed" && before?.isKept === true &&
      before.headers.some(([name]) => name === "transfer-encoding"),
    isEnd: true,
  },
  {
    name: "a head that is not complete yet",
    verdict: "refused later than by llhttp",
    why: "The listener checks it when it is complete; until then its size and time are bounded.",
    section: "RFC 9112, 2.2",
    example: "GET / HTTP/1.1\r\nno colon\r\n",
    isIt: ({ own, llhttp, text }) =>
      !isMessage(own) && own.kind === "ended" && reasonOf(llhttp) !== "" && !headOf(text).isWhole,
  },
  {
    name: "a line of a chunked body that is not complete yet",
    verdict: "refused later than by llhttp",
    why: "The listener checks it when it is complete; it has 4 KiB at most.",
    section: "RFC 9112, 7.1",
    example: `POST / HTTP/1.1\r\n${CHUNKED}\r\nx`,
    isIt: ({ own, llhttp }) =>
      !isMessage(own) && own.kind === "cut" && !isMessage(llhttp) &&
      llhttp.kind === "refused" && llhttp.stage === "body",
  },
  {
    name: "a missing, repeated or invalid Host",
    verdict: "stricter than llhttp",
    why: "The cockpit behind the proxy could choose another host.",
    section: "RFC 9112, 3.2",
    example: "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    isIt: refuses("400", (text) => {
      const hosts = values(text, "host");
      return hosts.length === 0
        ? minorOf(text) !== "0"
        : hosts.length > 1 || !PLAIN_HOST.test(hosts[0] ?? "");
    }),
  },
  {
    name: "a target that is neither a path nor an http or https URL",
    verdict: "stricter than llhttp",
    why: "No program here answers `*`, and readers differ on a fragment, a user and other schemes.",
    section: "RFC 9112, 3.2",
    example: `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`,
    isIt: refuses("400", (text) => {
      const target = targetOf(text);
      if (target.includes("#")) return true;
      return !target.startsWith("/") && !PLAIN_HOST.test(WHOLE_ADDRESS.exec(target)?.[1] ?? "");
    }),
  },
  {
    name: "chunks in HTTP/1.0",
    verdict: "stricter than llhttp",
    why: "That version has no chunks, and its readers would read them as the next request.",
    section: "RFC 9112, 6.1",
    example: "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    isIt: refuses("400", (text) => minorOf(text) === "0" && values(text, CODING).length > 0),
  },
  {
    name: "a transfer coding besides chunked",
    verdict: "stricter than llhttp",
    why: "The listener does not decode it, and readers differ on which coding ends the body.",
    section: "RFC 9112, 6.1",
    example: `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    isIt: refuses("400", (text) => {
      const codings = values(text, CODING);
      return codings.length > 0 && !/^chunked$/i.test(codings.join());
    }),
  },
  {
    name: "a tab around a transfer coding",
    verdict: "stricter than llhttp",
    why:
      "`llhttp` skips a tab before the coding as white space, and reads a tab after it as part " +
      "of its name.",
    section: "RFC 9110, 5.6.3",
    example: `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n`,
    isIt: refuses("400", (text) => /^(?:transfer-encoding|content-length):[^\r\n]*\t/im.test(text)),
  },
  {
    name: "a Content-Length that begins with 0",
    verdict: "stricter than llhttp",
    why: "Some readers read it as an octal number.",
    section: "RFC 9110, 8.6",
    example: `POST / HTTP/1.1\r\n${HOST}Content-Length: 03\r\n\r\nabc`,
    isIt: refuses("400", (text) => /^0\d+$/.test(values(text, "content-length").join())),
  },
  {
    name: "a Content-Length of more than 15 digits",
    verdict: "stricter than llhttp",
    why: "JavaScript numbers are not exact above that.",
    section: "RFC 9110, 8.6",
    example: `POST / HTTP/1.1\r\n${HOST}Content-Length: 1000000000000000\r\n\r\n`,
    isIt: refuses("400", (text) => /^\d{16,}$/.test(values(text, "content-length").join())),
  },
  {
    name: "an upgrade with a body",
    verdict: "stricter than llhttp",
    why: "One reader would read what follows as the body, and another as the new protocol.",
    section: "RFC 9110, 7.8",
    example:
      `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\na`,
    isIt: refuses("400", (text) =>
      values(text, "upgrade").length > 0 &&
      values(text, CODING).length + values(text, "content-length").length > 0),
  },
  {
    name: "CONNECT to another host",
    verdict: "stricter than llhttp",
    why: "No program here opens tunnels for its clients.",
    section: "RFC 9110, 9.3.6",
    example: `CONNECT /a HTTP/1.1\r\n${HOST}\r\n`,
    isIt: refuses("501", (text) => methodOf(text) === "CONNECT"),
  },
  {
    name: "an expectation other than 100-continue",
    verdict: "stricter than llhttp",
    why: "HTTP defines no other expectation.",
    section: "RFC 9110, 10.1.1",
    example: `POST / HTTP/1.1\r\n${HOST}Expect: 200-ok\r\n\r\n`,
    isIt: refuses("417", (text) => values(text, "expect").join().toLowerCase() !== "100-continue"),
  },
  {
    name: "HTTP/0.9 and HTTP/2.0 in a request line",
    verdict: "stricter than llhttp",
    why: "Those versions have another message format.",
    section: "RFC 9112, 2.3",
    example: `GET / HTTP/2.0\r\n${HOST}\r\n`,
    isIt: refuses("505", (text) => /HTTP\/[^1]\.\d$/.test(headOf(text).first)),
  },
  {
    name: "a request line without a version",
    verdict: "stricter than llhttp",
    why: "That is HTTP/0.9, which has no headers.",
    section: "RFC 9112, 3",
    example: `GET /\r\n${HOST}\r\n`,
    isIt: refuses("400", (text) => /^(?:\r\n)*(?![^\r\n]* HTTP\/)[^\r\n]/.test(text)),
  },
  {
    name: "two spaces in a request line",
    verdict: "stricter than llhttp",
    why: "One space separates the words; readers that split elsewhere find another target.",
    section: "RFC 9112, 3",
    example: `GET /  HTTP/1.1\r\n${HOST}\r\n`,
    isIt: refuses("400", (text) => headOf(text).first.includes("  ")),
  },
  {
    name: "a line feed before a request",
    verdict: "stricter than llhttp",
    why: "An empty line is CR LF; the listener accepts no line feed alone.",
    section: "RFC 9112, 2.2",
    example: `\nGET / HTTP/1.1\r\n${HOST}\r\n`,
    isIt: refuses("400", (text) => /^(?:\r\n)*(?:\n|\r[^\n])/.test(text)),
  },
  {
    name: "a chunk size of more than 12 digits",
    verdict: "stricter than llhttp",
    why: "JavaScript numbers are not exact above 13, and no client sends so many zeros.",
    section: "RFC 9112, 7.1",
    example: `POST / HTTP/1.1\r\n${CHUNKED}\r\n0000000000003\r\nabc\r\n0\r\n\r\n`,
    isIt: refuses("a chunk has no size", (text) => /\r\n[0-9A-Fa-f]{13,}[\r;]/.test(text)),
  },
  {
    name: "a chunk extension without a name or a value",
    verdict: "stricter than llhttp",
    why: "The grammar requires both, and no peer needs the short forms.",
    section: "RFC 9112, 7.1.1",
    example: `POST / HTTP/1.1\r\n${CHUNKED}\r\n3;a=\r\nabc\r\n0\r\n\r\n`,
    isIt: refuses("a chunk has no size", hasBrokenExtension),
  },
  {
    name: "white space before a comma or at the end of Connection",
    verdict: "less strict than llhttp",
    why: "It is allowed there; `llhttp` does not recognize the option then.",
    section: "RFC 9110, 5.6.1",
    example: `GET / HTTP/1.1\r\n${HOST}Connection: close\t\r\n\r\n`,
    isIt: ({ fields, text }) => fields !== "" && SPACED_OPTION.test(text),
    mend: withoutSpacedOptions,
  },
  {
    name: "an upgrade in HTTP/1.0",
    verdict: "stricter than llhttp",
    why: "That version has no upgrade: what follows is the next request, if any.",
    section: "RFC 9110, 7.8",
    example: "GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    isIt: ({ own, llhttp, fields, text }) =>
      fields.endsWith("isUpgrade") && isMessage(own) && !own.isUpgrade && isMessage(llhttp) &&
      minorOf(text) === "0",
  },
  {
    name: "HTTP/1.0 with keep-alive",
    verdict: "stricter than llhttp",
    why: "A connection of that version ends with its answer.",
    section: "RFC 9112, 9.3",
    example: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    isIt: ({ own, llhttp, fields, text }) =>
      fields === "isKept" && isMessage(own) && isMessage(llhttp) && !own.isKept &&
      minorOf(text) === "0",
  },
  {
    name: "Proxy-Connection",
    verdict: "less strict than llhttp",
    why: "It is not an HTTP header, so it does not affect the connection.",
    section: "RFC 9112, C.2.2",
    example: `GET / HTTP/1.1\r\n${HOST}Proxy-Connection: close\r\n\r\n`,
    isIt: ({ fields, text }) => fields !== "" && values(text, "proxy-connection").length > 0,
    mend: (text) => text.replace(/^proxy-connection:/gim, "x-proxy-connection:"),
  },
  {
    name: "Connection in a trailer",
    verdict: "less strict than llhttp",
    why: "A trailer does not affect the connection. `llhttp` obeys its options.",
    section: "RFC 9110, 6.5.1",
    example: `POST / HTTP/1.1\r\n${CHUNKED}\r\n0\r\nConnection: close\r\n\r\n`,
    isIt: ({ fields, text }) => fields === "isKept" && CONNECTION_TRAILER.test(text),
    mend: (text) => text.replace(CONNECTION_TRAILER, "$1x-$2"),
  },
  {
    name: "a method that only one of the two parsers knows",
    verdict: "less strict than llhttp",
    why: "The list of methods is open; the server behind the proxy decides about them.",
    section: "RFC 9110, 9.1",
    example: `FOO / HTTP/1.1\r\n${HOST}\r\n`,
    isIt: accepts(
      /method|Expected space after method|HTTP\/2 Connection Preface/,
      ({ text }) => TOKEN.test(methodOf(text)) && !KNOWN_METHODS.test(methodOf(text)),
    ),
    mend: (text) => text.replace(methodOf(text), "PUT"),
  },
  {
    name: "HTTP/1.2 and above",
    verdict: "less strict than llhttp",
    why: "A higher minor version is parsed as the highest known one.",
    section: "RFC 9110, 2.5",
    example: `GET / HTTP/1.2\r\n${HOST}\r\n`,
    isIt: accepts(/Invalid HTTP version/, ({ text }) => /[2-9]/.test(minorOf(text))),
    mend: (text) => text.replace(/HTTP\/1\.[2-9]\r\n/, "HTTP/1.1\r\n"),
  },
];
