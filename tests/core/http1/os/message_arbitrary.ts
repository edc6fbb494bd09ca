/**
 * Generates HTTP/1.1 connections from a grammar: mostly valid messages, with some parts in a form
 * that readers disagree about. Then some bytes are changed anywhere. A character is a byte.
 *
 * @module
 */

import fc from "fast-check";

/** What one peer sent, and how it arrived. */
export interface Stream {
  readonly text: string;
  /** Where the stream is split, in thousandths of its length; empty: after each byte. */
  readonly cuts: readonly number[];
}

const EOL = "\r\n";
const ODD_EOLS = [
  "\n",
  "\r",
  "\r\r\n",
  "\n\r",
  " \r\n",
  "\t\r\n",
  "\r \n",
  "",
  "\r\n\r\n",
  "\r\n ",
];
const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n";
const TOKENS = ["close", "keep-alive", "Upgrade", "x-hop", "CLOSE", "clos", "te", ""];
const ODD_BYTES = ["\0", "\t", " ", "\r", "\n", "\x0b", "\x0c", "\x7f", "\x80", "\xa0", "\xff"];

/** Splits lists at a character that is not a byte. */
function parts(...lists: readonly string[]): readonly string[] {
  return lists.flatMap((list) => list.split("‖"));
}

/** Generates mostly `good`, sometimes one of `odd`. */
function mostly<T>(good: T, odd: readonly T[], weight = 15): fc.Arbitrary<T> {
  return fc.oneof(
    { weight, arbitrary: fc.constant(good) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
}

/** Generates mostly one of `good`, sometimes one of `odd`. */
function mostlyOf<T>(good: readonly T[], odd: readonly T[], weight = 15): fc.Arbitrary<T> {
  return fc.oneof(
    { weight, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
}

function joined(...parts: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(...parts).map((texts) => texts.join(""));
}

const eol = mostly(EOL, ODD_EOLS, 40);
const bodyText = fc.oneof(
  fc.constantFrom("a", "abc", SMUGGLED, "0\r\n\r\n", "\r\n", "3\r\nabc\r\n0\r\n\r\n", ""),
  fc.string({ unit: "binary-ascii", maxLength: 30 }),
);

const name = mostlyOf(
  ["X", "Accept", "Cookie", "x-user-email", "A!#$%&'*+-.^_`|~9"],
  ["", "X ", " X", "X\t", "X y", "X\0", "X\x80", "(X)", "X:", "X\r", "X\n", "\x7f"],
);
const colon = mostly(": ", [":", ":\t", " :", ":  ", "", "\t: ", ":\x0b", ":\r\n ", ": \r\n\t"]);
const value = mostlyOf(
  ["1", "", "a b", "\t1 ", "a:b", "\xe9", "a, b"],
  ["\0", "\r", "\n", "\x0b1", "1\x0c", "\x7f", "\x01", "1\r2", "1\n2", "1\r\n 2", "1\r\n\t2"],
);
const length = mostlyOf(
  ["0", "1", "3", "5", "37"],
  parts(
    "03‖+3‖-3‖3 ‖3,3‖3, 3‖0x3‖3.0‖3e0‖ ‖‖\x0b3‖3\x0b‖3\t‖99999999999999999999",
    "18446744073709551617‖4294967299‖1000000000000000‖3 3‖\xb3",
  ),
);
const coding = mostlyOf(
  ["chunked", "Chunked"],
  parts(
    "gzip, chunked‖chunked, gzip‖chunked, chunked‖identity‖chunked;q=1‖xchunked‖chunked,",
    ',chunked‖chunke‖chunked d‖\x0bchunked‖"chunked"‖‖chunked\x0b‖gzip',
    "identity, chunked‖chunked, identity‖chunked\t",
  ),
);
const host = mostly("a", parts("a:1‖a, b‖u@a‖a/x‖a?x‖a#x‖a b‖[::1]:8‖\xe9‖a\\b‖%61"));
const connection = fc.array(mostlyOf(TOKENS, ["\x0bclose", "close ", "close\x7f", "up grade"]), {
  minLength: 1,
  maxLength: 3,
}).chain((all) => fc.constantFrom(all.join(", "), all.join(","), all.join(" ,")));
const expectation = mostly("100-continue", ["100-Continue", "200-ok", "", "100-continue, x"], 6);

const headerLine = fc.oneof(
  { weight: 6, arbitrary: joined(name, colon, value) },
  {
    weight: 2,
    arbitrary: joined(fc.constantFrom("Content-Length", "content-length"), colon, length),
  },
  { weight: 2, arbitrary: joined(fc.constant("Transfer-Encoding"), colon, coding) },
  { weight: 3, arbitrary: joined(fc.constantFrom("Connection", "CONNECTION"), colon, connection) },
  { weight: 1, arbitrary: joined(fc.constant("Proxy-Connection"), colon, connection) },
  {
    weight: 2,
    arbitrary: joined(fc.constant("Upgrade"), colon, fc.constantFrom("websocket", "h2c", "")),
  },
  { weight: 1, arbitrary: joined(fc.constant("Expect"), colon, expectation) },
  { weight: 1, arbitrary: joined(fc.constant("Host"), colon, host) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "no colon",
      ": 1",
      " folded: 1",
      "\tfolded",
      "Content-Length : 3",
      "\0",
    ),
  },
);

const size = mostly(
  "",
  ["0", "00", "+", "-", "0x", " ", "\t", "\x0b", "0000000000000000", "10"],
  20,
);
const extension = mostly(
  "",
  parts(
    ';a‖;a=b‖; a="b"‖;‖;;‖;=‖;a=‖;a=\xff‖;\0‖;a\rb‖;a\nb‖;a\x7f‖ ;a‖ ; a = b‖"',
    ';a="\r\n"‖;a=b;c‖;a b‖ ‖\t‖  ‖;\r‖;a="b‖,a',
  ),
  8,
);
const chunk = fc.tuple(bodyText, size, extension, eol, eol, mostly(0, [1, -1, 3], 30), fc.boolean())
  .filter(([text]) => text !== "")
  .map(([text, zeros, ext, afterSize, afterData, off, isUpper]) => {
    const digits = Math.max(0, text.length + off).toString(16);
    return `${zeros}${
      isUpper ? digits.toUpperCase() : digits
    }${ext}${afterSize}${text}${afterData}`;
  });
const trailer = mostlyOf(["", "X: y\r\n"], [
  SMUGGLED,
  ...parts(
    "no colon\r\n‖Content-Length: 3\r\n‖Transfer-Encoding: chunked\r\n‖X: y\n‖ x: y\r\n",
    "X: \0\r\n‖X : y\r\n‖: y\r\n‖X: y\r\n z\r\n‖X: y\r‖Host: b\r\n",
  ),
]);
const chunks = fc.tuple(
  fc.array(chunk, { maxLength: 3 }),
  mostly("0", ["00", "000000000000000000", "", "-0", "0 ", "0;a", "0x0", "0\t", " 0"]),
  eol,
  trailer,
  eol,
).map(([all, ...rest]) => [...all, ...rest].join(""));

/** Header lines that frame a body, and that body. */
const framed = fc.oneof(
  { weight: 4, arbitrary: fc.constant(["", ""]) },
  {
    weight: 4,
    arbitrary: fc.tuple(bodyText, mostly(0, [1, -1, 5], 20)).map((
      [text, off],
    ) => [`Content-Length: ${Math.max(0, text.length + off)}\r\n`, text]),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(coding, chunks).map((
      [one, text],
    ) => [`Transfer-Encoding: ${one}\r\n`, text]),
  },
);

const method = mostlyOf(
  ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE"],
  parts(
    "CONNECT‖FOO‖get‖PRI‖M-SEARCH‖QUERY‖SOURCE‖ANNOUNCE‖GE(T‖‖G\0T‖X‖GETT‖POS‖G\x80T",
    "\r\nGET‖\nGET‖ GET‖\r\n\r\nPUT‖HTTP/1.1",
  ),
);
const target = mostlyOf(
  ["/", "/a?b=c", "/a/%2e"],
  parts(
    "*‖http://a/x‖https://a:1?x‖HTTP://a‖a:443‖/\xff‖/a b‖/#f‖‖//a/b‖foo‖http://",
    'http:///x‖http://u@a/‖/\0‖/\x7f‖/\t‖?x‖#‖/\r‖/"<>\\^`{|}‖ftp://a/‖http://a\\b/',
    "http://a b/‖mailto:x‖http:/a‖/x\x0b",
  ),
);
const version = mostlyOf(
  ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"],
  parts(
    "HTTP/1.2‖HTTP/2.0‖HTTP/0.9‖http/1.1‖HTTP/1.1 ‖HTTP/01.1‖HTTP/1.10‖HTTP/1‖RTSP/1.0",
    "ICE/1.0‖‖HTTP /1.1‖HTTP/1,1‖HTTP/1.1\t‖HTTP/+1.1‖HTTP/1.\xb1",
  ),
);
const space = mostly(" ", ["  ", "\t", "", " \t", "\x0b", "\xa0"], 60);

const headers = fc.array(joined(headerLine, eol), { maxLength: 4 }).map((all) => all.join(""));
const hostLine = mostly(`Host: a${EOL}`, ["", "host:a\r\n", "Host: a\r\nHost: b\r\n"], 12);

const request = fc.tuple(
  joined(method, space, target, space, version, eol, hostLine),
  headers,
  framed,
  eol,
  fc.boolean(),
).map(([start, lines, [framing = "", body = ""], end, isFirst]) =>
  `${start}${isFirst ? framing + lines : lines + framing}${end}${body}`
);

const statusLine = joined(
  mostlyOf(["HTTP/1.1", "HTTP/1.1", "HTTP/1.0"], [
    "HTTP/1.2",
    "HTTP/2.0",
    "http/1.1",
    "HTTP/1",
    "ICY",
  ]),
  space,
  mostlyOf(
    ["200", "204", "304", "404", "500", "206"],
    parts("100‖103‖101‖199‖99‖1000‖20‖2 0‖600‖999‖000‖+20‖20x‖"),
    6,
  ),
  mostlyOf([" OK", "", " ", " a\xe9 b"], ["  OK", "\tOK", " \0", " a\rb", "OK", " \x7f", " \n"]),
  eol,
);
const interim = fc.constantFrom(
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
  "HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\n",
  "HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n",
  "HTTP/1.1 1\r\n\r\n",
  "HTTP/1.1 1000\r\n\r\n",
  "HTTP/1.1 100 x\r\nno colon\r\n\r\n",
  "HTTP/1.1 100 x\nX: y\r\n\r\n",
);
const answer = fc.tuple(
  fc.oneof({ weight: 9, arbitrary: fc.constant("") }, { weight: 1, arbitrary: interim }),
  statusLine,
  headers,
  framed,
  eol,
  fc.boolean(),
).map(([before, start, lines, [framing = "", body = ""], end, isFirst]) =>
  `${before}${start}${isFirst ? framing + lines : lines + framing}${end}${body}`
);

/** A change at index `at` of the text. */
type Change = (text: string, at: number) => string;
const span = fc.integer({ min: 1, max: 12 });
const insertion = fc.oneof(
  fc.constantFrom(
    ...ODD_BYTES,
    ...ODD_EOLS,
    ":",
    ";",
    ",",
    "0",
    "HTTP/1.1",
    SMUGGLED,
    "\r\nHost: c",
  ),
  fc.constantFrom("\r\nContent-Length: 4", "\r\nTransfer-Encoding: chunked", "\r\nX: y"),
);
const change: fc.Arbitrary<Change> = fc.oneof(
  span.map((count): Change => (text, at) => text.slice(0, at) + text.slice(at + count)),
  span.map((count): Change => (text, at) => text.slice(0, at + count) + text.slice(at)),
  insertion.map((what): Change => (text, at) => text.slice(0, at) + what + text.slice(at)),
  fc.integer({ min: 0, max: 255 }).map((byte): Change => (text, at) =>
    text.slice(0, at) + String.fromCharCode(byte) + text.slice(at + 1)
  ),
  fc.constant<Change>((text, at) => text.slice(0, at)),
);
const place = fc.integer({ min: 0, max: 1000 });
const changes = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(fc.tuple(place, change), { minLength: 1, maxLength: 2 }) },
);
const cuts = fc.oneof(
  { weight: 2, arbitrary: fc.constant([1000]) },
  { weight: 3, arbitrary: fc.array(place, { minLength: 1, maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constant([]) },
);

function streamsOf(message: fc.Arbitrary<string>): fc.Arbitrary<Stream> {
  return fc.tuple(fc.array(message, { minLength: 1, maxLength: 3 }), changes, cuts).map(
    ([messages, changed, cut]) => ({
      text: changed.reduce(
        (text, [at, how]) => how(text, Math.floor(text.length * at / 1000)),
        messages.join(""),
      ),
      cuts: cut,
    }),
  );
}

/** Splits a stream into the pieces in which it arrives. */
export function piecesOf({ text, cuts: at }: Stream): readonly Uint8Array<ArrayBuffer>[] {
  const bytes = Uint8Array.from(text, (one) => one.charCodeAt(0));
  const ends = at.length === 0
    ? Array.from(bytes, (_, index) => index + 1)
    : at.map((part) => Math.floor(bytes.length * part / 1000)).sort((a, b) => a - b);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let from = 0;
  for (const to of [...ends, bytes.length]) {
    if (to > from) pieces.push(bytes.subarray(from, to));
    from = Math.max(from, to);
  }
  return pieces;
}

/** Requests that a listener receives. */
export const requestStreams = streamsOf(request);
/** Answers that a client receives; the first is the answer, the rest was not requested. */
export const answerStreams = streamsOf(answer);
