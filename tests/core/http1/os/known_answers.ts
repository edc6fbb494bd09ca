/**
 * Answers that the client and `llhttp` read differently, each with the reason. A difference that is
 * not listed here fails the test.
 *
 * @module
 */

import {
  CONNECTION_TRAILER,
  hasBrokenExtension,
  type Head,
  headOf,
  isMessage,
  type Known,
  reasonOf,
  SPACED_OPTION,
  valuesOf,
  withoutSpacedOptions,
} from "tests/core/http1/os/differences.ts";

const INTERIM_LINE = /^HTTP\/1\.[01] 1(?!01)\d\d(?: |\r)/;
const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const CODING = "transfer-encoding";
const LENGTH = "content-length";
const NO_STATUS_LINE = /^its first line is not a status line$/;
const INTERIM = /^nothing may follow its interim answer$/;

/** Matches when the client refuses with `reason` and `llhttp` accepts. */
function refuses(reason: RegExp, about: (text: string) => boolean): Known["isIt"] {
  return ({ own, llhttp, text }) =>
    reason.test(reasonOf(own)) && reasonOf(llhttp) === "" && about(text);
}

/** Splits off the interim answers. The last element is the final answer and everything after it. */
function answersOf(text: string): readonly string[] {
  const answers: string[] = [];
  let from = 0;
  for (;;) {
    const end = text.indexOf("\r\n\r\n", from);
    if (end === -1 || !INTERIM_LINE.test(text.slice(from))) return [...answers, text.slice(from)];
    answers.push(text.slice(from, end + 4));
    from = end + 4;
  }
}
function headOfFinal(text: string): Head {
  return headOf(answersOf(text).at(-1) ?? "");
}
function interimsOf(text: string): readonly Head[] {
  return answersOf(text).filter((one) => INTERIM_LINE.test(one)).map(headOf);
}
/** Returns whether the final answer or an interim one has a head that matches. */
function hasHead(text: string, isSuch: (head: Head) => boolean): boolean {
  return answersOf(text).map(headOf).some(isSuch);
}
function values(text: string, name: string): readonly string[] {
  return valuesOf(headOfFinal(text), name);
}
function statusOf(text: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(headOfFinal(text).first)?.[1]);
}

/** The rows; the first match explains a difference. */
export const KNOWN_ANSWERS: readonly Known[] = [
  {
    name: "a head that is not complete yet",
    verdict: "refused later than by llhttp",
    why: "The client checks it when it is complete; until then its size is bounded.",
    section: "RFC 9112, 2.2",
    example: `${OK}no colon\r\n`,
    isIt: ({ own, llhttp, text }) =>
      !isMessage(own) && own.kind === "cut" && reasonOf(llhttp) !== "" &&
      !headOfFinal(text).isWhole,
  },
  {
    name: "a line of a chunked body that is not complete yet",
    verdict: "refused later than by llhttp",
    why: "The client checks it when it is complete; it has 4 KiB at most.",
    section: "RFC 9112, 7.1",
    example: `${CHUNKED}x`,
    isIt: ({ own, llhttp }) =>
      !isMessage(own) && own.kind === "cut" && own.stage === "body" && !isMessage(llhttp) &&
      llhttp.kind === "refused" && llhttp.stage === "body",
  },
  {
    name: "Proxy-Connection",
    verdict: "less strict than llhttp",
    why: "It is not an HTTP header, so it does not affect the connection.",
    section: "RFC 9112, C.2.2",
    example: `${OK}Proxy-Connection: close\r\nContent-Length: 0\r\n\r\n`,
    isIt: ({ llhttp, text }) =>
      isMessage(llhttp) && !llhttp.isKept &&
      answersOf(text).some((one) => valuesOf(headOf(one), "proxy-connection").length > 0),
    mend: (text) => text.replace(/^proxy-connection:/gim, "x-proxy-connection:"),
  },
  {
    name: "an empty line before an answer",
    verdict: "stricter than llhttp",
    why: "Only a server may skip empty lines, and only before a request.",
    section: "RFC 9112, 2.2",
    example: `\r\n${OK}Content-Length: 0\r\n\r\n`,
    isIt: ({ own, llhttp, text }) =>
      !isMessage(own) && /^[\r\n]/.test(answersOf(text).at(-1) ?? "") && reasonOf(llhttp) === "",
  },
  {
    name: "a version other than HTTP/1.0 and HTTP/1.1",
    verdict: "stricter than llhttp",
    why: "Other versions have another message format.",
    section: "RFC 9112, 2.3",
    example: "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    isIt: refuses(NO_STATUS_LINE, (text) => !/^HTTP\/1\.[01] /.test(headOfFinal(text).first)),
  },
  {
    name: "a status below 100 or above 599",
    verdict: "stricter than llhttp",
    why: "They have no class, so nothing says whether a body follows.",
    section: "RFC 9110, 15",
    example: "HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n",
    isIt: refuses(NO_STATUS_LINE, (text) => {
      const status = statusOf(text);
      return status < 100 || status > 599;
    }),
  },
  {
    name: "a status line that ends with two carriage returns",
    verdict: "stricter than llhttp",
    why: "`llhttp` reads them as the end of the line; for the client a line ends in CR LF.",
    section: "RFC 9112, 2.2",
    example: "HTTP/1.1 200 OK\r\rContent-Length: 0\r\n\r\n",
    isIt: ({ own, llhttp, text }) =>
      !isMessage(own) && reasonOf(llhttp) === "" && /^HTTP\/1\.[01] [^\r\n]*\r\r/m.test(text),
  },
  {
    name: "a control character in the reason of a status",
    verdict: "stricter than llhttp",
    why: "It must be visible text, because it is logged.",
    section: "RFC 9112, 4",
    example: "HTTP/1.1 200 \0\r\nContent-Length: 0\r\n\r\n",
    isIt: refuses(
      NO_STATUS_LINE,
      (text) => answersOf(text).some((one) => /[^\t\x20-\x7e\x80-\xff]/.test(headOf(one).first)),
    ),
  },
  {
    name: "a change of protocol",
    verdict: "stricter than llhttp",
    why: "The client requested none. Where the proxy does, other code reads the answer.",
    section: "RFC 9110, 7.8",
    example: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    isIt: refuses(/^it switches protocols/, (text) => statusOf(text) === 101),
  },
  {
    name: "an interim answer without a final answer",
    verdict: "stricter than llhttp",
    why: "The answer that it announces cannot come.",
    section: "RFC 9110, 15.2",
    example: "HTTP/1.0 100 Continue\r\n\r\n",
    isIt: refuses(
      INTERIM,
      (text) =>
        interimsOf(text).some((head) =>
          head.first.startsWith("HTTP/1.0") ||
          /(?:^|[, ])close(?:[, ]|$)/i.test(valuesOf(head, "connection").join())
        ),
    ),
  },
  {
    name: "an interim answer with a body",
    verdict: "stricter than llhttp",
    why: "It has no body; bytes after it could be read as the final answer.",
    section: "RFC 9112, 6.3",
    example: "HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\n\r\n",
    isIt: ({ own, text }) =>
      INTERIM.test(reasonOf(own)) &&
      interimsOf(text).some((head) =>
        head.headers.some(([name]) => name === CODING || name === LENGTH)
      ),
  },
  {
    name: "a transfer coding besides chunked",
    verdict: "stricter than llhttp",
    why: "The client does not decode it, and readers differ on where that body ends.",
    section: "RFC 9112, 6.3",
    example: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    isIt: refuses(
      /^its transfer coding is not chunked alone$/,
      (text) =>
        hasHead(text, (head) => {
          const codings = valuesOf(head, CODING);
          return codings.length > 0 && !/^chunked$/i.test(codings.join());
        }),
    ),
  },
  {
    name: "Content-Length with an empty Transfer-Encoding",
    verdict: "stricter than llhttp",
    why: "A message has one framing.",
    section: "RFC 9112, 6.3",
    example: `${OK}Transfer-Encoding:\r\nContent-Length: 1\r\n\r\na`,
    isIt: refuses(
      /^it is framed in two ways$/,
      (text) =>
        hasHead(
          text,
          (head) => valuesOf(head, CODING).join() === "" && valuesOf(head, LENGTH).length > 0,
        ),
    ),
  },
  {
    name: "a tab around a transfer coding",
    verdict: "stricter than llhttp",
    why: "`llhttp` treats a tab after the coding as part of its name, and reads to the " +
      "end of the connection.",
    section: "RFC 9110, 5.6.3",
    example: `${OK}Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n`,
    isIt: refuses(
      /^a header is malformed$/,
      (text) => /^(?:transfer-encoding|content-length):[^\r\n]*\t/im.test(text),
    ),
  },
  {
    name: "a Content-Length that begins with 0 or has more than 15 digits",
    verdict: "stricter than llhttp",
    why: "Some readers read it as octal, and JavaScript numbers are not exact above 15 digits.",
    section: "RFC 9110, 8.6",
    example: `${OK}Content-Length: 03\r\n\r\nabc`,
    isIt: refuses(
      /^its content-length is not a number$/,
      (text) => hasHead(text, (head) => /^(?:0\d+|\d{16,})$/.test(valuesOf(head, LENGTH).join())),
    ),
  },
  {
    name: "a chunk extension without a name or a value",
    verdict: "stricter than llhttp",
    why: "The grammar requires both, and no peer needs the short forms.",
    section: "RFC 9112, 7.1.1",
    example: `${CHUNKED}3;a=\r\nabc\r\n0\r\n\r\n`,
    isIt: refuses(
      /^a chunk has no size$/,
      hasBrokenExtension,
    ),
  },
  {
    name: "a chunk size of more than 12 digits",
    verdict: "stricter than llhttp",
    why: "JavaScript numbers are not exact above 13, and no server sends so many zeros.",
    section: "RFC 9112, 7.1",
    example: `${CHUNKED}0000000000003\r\nabc\r\n0\r\n\r\n`,
    isIt: refuses(/^a chunk has no size$/, (text) => /\r\n[0-9A-Fa-f]{13,}[\r;]/.test(text)),
  },
  {
    name: "a trailer that frames the message",
    verdict: "stricter than llhttp",
    why: "It comes too late to say where the body ends.",
    section: "RFC 9110, 6.5.1",
    example: `${CHUNKED}0\r\nTransfer-Encoding: chunked\r\n\r\n`,
    isIt: refuses(
      /^a trailer frames the message$/,
      (text) =>
        /\r\n(?:transfer-encoding|content-length):/i.test(text.slice(text.indexOf("\r\n\r\n"))),
    ),
  },
  {
    name: "204 or 304 with a chunked body",
    verdict: "stricter than llhttp",
    why: "It has no body. The client reads none, and does not reuse the connection.",
    section: "RFC 9112, 6.3",
    example: `HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    isIt: ({ own, text }) =>
      isMessage(own) && !own.isKept && own.body === "" &&
      /^(?:204|304)$/.test(`${own.status}`) &&
      values(text, CODING).length > 0,
  },
  {
    name: "204 with a Content-Length",
    verdict: "stricter than llhttp",
    why: "It has no body. The client reads none, and does not reuse the connection.",
    section: "RFC 9110, 8.6",
    example: "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n",
    isIt: ({ own, fields, text }) =>
      isMessage(own) && !own.isKept && own.status === 204 && fields === "isKept" &&
      values(text, LENGTH).length > 0,
  },
  {
    name: "Connection in a trailer",
    verdict: "less strict than llhttp",
    why: "A trailer does not affect the connection. `llhttp` obeys its options.",
    section: "RFC 9110, 6.5.1",
    example: `${CHUNKED}0\r\nConnection: close\r\n\r\n`,
    isIt: ({ fields, text }) => fields === "isKept" && CONNECTION_TRAILER.test(text),
    mend: (text) => text.replace(CONNECTION_TRAILER, "$1x-$2"),
  },
  {
    name: "white space before a comma or at the end of Connection",
    verdict: "less strict than llhttp",
    why: "It is allowed there; `llhttp` does not recognize the option then.",
    section: "RFC 9110, 5.6.1",
    example: `${OK}Connection: close\t\r\nContent-Length: 0\r\n\r\n`,
    isIt: ({ fields, text }) => fields !== "" && SPACED_OPTION.test(text),
    mend: withoutSpacedOptions,
  },
  {
    name: "HTTP/1.0 with keep-alive",
    verdict: "stricter than llhttp",
    why: "A connection of that version ends with its answer.",
    section: "RFC 9112, 9.3",
    example: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
    isIt: ({ own, fields, text }) =>
      isMessage(own) && !own.isKept && fields === "isKept" &&
      headOfFinal(text).first.startsWith("HTTP/1.0"),
  },
];
