/**
 * Mutants of the listener and the client that the login proxy uses, in the form of `mutants.ts`.
 * Data only.
 *
 * @module
 */

import type { Mutant } from "tests/login/mutants.ts";

const ATTACKS = "tests/login/http1/os/attacks_test.ts";
const CONNECTIONS = "tests/login/connections_test.ts";
const LIMITS = "tests/core/http1/os/connection_limits_test.ts";
const DESCRIPTORS = "tests/login/descriptors_process_test.ts";
const RAW = "tests/login/raw_test.ts";
const UPSTREAM = "tests/login/http1/os/upstream_test.ts";
const LISTENER = "tests/core/http1/os/server_test.ts";
const CHUNKED = "tests/core/http1/chunked_test.ts";
const HTTP1 = "tests/core/http1/messages_test.ts";

/** All mutants. */
export const HTTP_MUTANTS: readonly Mutant[] = [
  {
    check: "heads with bytes that are not ASCII",
    file: "core/http1/os/latin1.ts",
    from: "if (read !== text.length || written !== text.length) into",
    to: "if (written !== text.length) into",
    tests: [UPSTREAM],
  },
  {
    check: "the characters of a host",
    file: "core/http1/request_head.ts",
    from: "minor === 1 : !AUTHORITY.test(host)",
    to: "minor === 1 : false",
    tests: [ATTACKS],
  },
  {
    check: "the characters of the host in an absolute target",
    file: "core/http1/request_head.ts",
    from: "if (!AUTHORITY.test(authority)) return undefined;",
    to: "",
    tests: [ATTACKS, LISTENER],
  },
  {
    check: "an upgrade in HTTP/1.0",
    file: "core/http1/request_head.ts",
    from: "const isUpgrade = minor === 1 && ",
    to: "const isUpgrade = ",
    tests: [ATTACKS],
  },
  {
    check: "a peer that disconnects after an unread body",
    file: "core/http1/os/body.ts",
    from: "if (isRest) this.#end();",
    to: "if (isRest) this.#wire.bodyChecks = undefined;",
    tests: [ATTACKS],
  },
  {
    check: "unrequested bytes of the server behind",
    file: "login/http1/os/upstream.ts",
    from: "idle.splice(at, 1);\n      drop(link);",
    to: "",
    tests: [UPSTREAM],
  },
  {
    check: "a forwarded body that is too short",
    file: "login/http1/os/upstream.ts",
    from: "if (left === 0) return;",
    to: "if (left >= 0) return;",
    tests: [ATTACKS],
  },
  {
    check: "a forwarded body that is too long",
    file: "login/http1/os/upstream.ts",
    from: "if (left < 0) break;",
    to: "",
    tests: [ATTACKS],
  },
  {
    check: "the size of chunk extensions",
    file: "core/http1/chunked.ts",
    from: "if ((this.#extensionBytes += text.length - size.length) > EXTENSION_BYTES_MAX) {",
    to: "if (this.#extensionBytes > EXTENSION_BYTES_MAX) {",
    tests: [ATTACKS],
  },
  {
    check: "white space and broken extensions after a chunk size",
    file: "core/http1/chunked.ts",
    from: "(?:;${NAME}(?:=(?:${NAME}|${QUOTED}))?)*$",
    to: "[ \\t]*(?:;.*)?$",
    tests: [CHUNKED],
  },
  {
    check: "malformed trailers",
    file: "core/http1/chunked.ts",
    from: 'if (trailer === undefined) throw new SyntaxError("a trailer is malformed");',
    to: "if (trailer === undefined) return;",
    tests: [CHUNKED],
  },
  {
    check: "trailers that frame the message",
    file: "core/http1/chunked.ts",
    from: "if (FRAMING_HEADERS.has(trailer[0])) throw",
    to: "if (trailer[0] === undefined) throw",
    tests: [CHUNKED],
  },
  {
    check: "a tab around a length or a coding",
    file: "core/http1/messages.ts",
    from: 'return FRAMING_HEADERS.has(name) && line.includes("\\t") ? undefined : [name, value];',
    to: "return [name, value];",
    tests: [HTTP1, LISTENER],
  },
  {
    check: "a fragment in a target",
    file: "core/http1/request_head.ts",
    from: 'if (target.includes("#")) return undefined;',
    to: "",
    tests: [LISTENER],
  },
  {
    check: "an invalid interim answer",
    file: "core/http1/os/upstream_link.ts",
    from: 'if (!head.ok) throw new UpstreamFault("malformed", head.error);',
    to: "if (!head.ok) continue;",
    tests: [UPSTREAM],
  },
  {
    check: "an interim answer without a final one",
    file: "core/http1/os/upstream_link.ts",
    from: "if (!head.value.isKept) {",
    to: "if (head.value.status < 0) {",
    tests: [UPSTREAM],
  },
  {
    check: "invalid chunks",
    file: "login/proxy/body.ts",
    from: 'return thrown instanceof SyntaxError ? "malformed" : "broken";',
    to: 'return "broken";',
    tests: [RAW],
  },
  {
    check: "a refused upgrade that reaches its client",
    file: "login/http1/os/tunnel.ts",
    from: "if (!wire.isDisconnected) await wire.linger();",
    to: "",
    tests: [ATTACKS],
  },
  {
    check: "a truncated answer for HTTP/1.0",
    file: "core/http1/os/answer.ts",
    from: "to.head.minor === 0 ? await withKnownEnd(wire, made, to) : made",
    to: "made",
    tests: [ATTACKS],
  },
  {
    check: "the connections of one client",
    file: "core/http1/os/connection_limits.ts",
    from: "if (own !== undefined && own.size >= this.#bounds.connectionsOfOneMax) {",
    to: "if (own !== undefined && own.size < 0) {",
    tests: [LIMITS, CONNECTIONS],
  },
  {
    check: "the connections of all clients",
    file: "core/http1/os/connection_limits.ts",
    from: "if (this.#all.size < this.#bounds.connectionsMax) return true;",
    to: "if (this.#all.size >= 0) return true;",
    tests: [LIMITS],
  },
  {
    check: "a busy connection, which is never closed for others",
    file: "core/http1/os/connection_limits.ts",
    from: 'return waiting === "head" || waiting === "end";',
    to: "return waiting !== undefined;",
    tests: [LIMITS],
  },
  {
    check: "a slow body, which is closed for others",
    file: "core/http1/os/connection_limits.ts",
    from: "return bodyChecks !== undefined && bodyChecks >= SLOW_CHECKS;",
    to: "return bodyChecks === -1;",
    tests: [LIMITS],
  },
  {
    check: "an unread answer, which is closed for others",
    file: "core/http1/os/connection_limits.ts",
    from: 'if (waiting === "write" && checks >= SLOW_CHECKS) return true;',
    to: "",
    tests: [LIMITS],
  },
  {
    check: "the number of connections that get a reason",
    file: "core/http1/os/server.ts",
    from: "if (this.#refusing >= this.#bounds.refusingMax) return wire.close();",
    to: "",
    tests: [LIMITS],
  },
  {
    check: "connections of proxies, which serve many clients",
    file: "login/caller.ts",
    from: "return isTrusted ? undefined : keys[0];",
    to: "return keys[0];",
    tests: [CONNECTIONS],
  },
  {
    check: "two framings of one request",
    file: "core/http1/request_head.ts",
    from: "const isOne = length === null && minor === 1",
    to: "const isOne = minor === 1",
    tests: [LISTENER],
  },
  {
    check: "chunks in HTTP/1.0",
    file: "core/http1/request_head.ts",
    from: "const isOne = length === null && minor === 1",
    to: "const isOne = length === null",
    tests: [LISTENER],
  },
  {
    check: "a request length that is not a number",
    file: "core/http1/messages.ts",
    from: "export const LENGTH = /^(?:0|[1-9][0-9]{0,14})$/;",
    to: "export const LENGTH = /^[0-9a-fx+]{1,15}$/;",
    tests: [LISTENER, RAW],
  },
  {
    check: "an upgrade without a protocol",
    file: "core/http1/request_head.ts",
    from: '/[^ ,]/.test(headers.get("upgrade") ?? "")',
    to: 'headers.has("upgrade")',
    tests: [ATTACKS],
  },
  {
    check: "a body after an upgrade",
    file: "core/http1/request_head.ts",
    from: 'if (isUpgrade && framing.kind !== "none") return err(400);',
    to: "",
    tests: [LISTENER],
  },
  {
    check: "the host of a request",
    file: "core/http1/request_head.ts",
    from: "host === null ? minor === 1 : ",
    to: "host === null ? false : ",
    tests: [LISTENER],
  },
  {
    check: "a bare line feed in a head",
    file: "core/http1/os/wire.ts",
    from: "if (at === this.#start || buffer[at - 1] !== CR) return 400;",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "another protocol at the first byte",
    file: "core/http1/os/wire.ts",
    from:
      "if (from === this.#start && from < this.#end && !isHeadStart(buffer[from] ?? 0)) return " +
      "400;",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "the size of a head",
    file: "core/http1/wire_limits.ts",
    from: "headBytesMax: 16 * KIB,",
    to: "headBytesMax: 1024 * KIB,",
    tests: [LISTENER],
  },
  {
    check: "the rest of an unread body",
    file: "core/http1/os/server.ts",
    from: "const isRead = body === undefined || body.discard();",
    to: "const isRead = body === undefined || body.discard() || true;",
    tests: [LISTENER],
  },
  {
    check: "the end of a connection whose body still arrives",
    file: "core/http1/os/server.ts",
    from: "await wire.linger();\n    }\n    return false;",
    to: "}\n    return false;",
    tests: [LISTENER],
  },
  {
    check: "the stated length of an answer",
    file: "core/http1/os/answer.ts",
    from: 'if (left < 0) throw new RangeError("the answer is longer than its stated length");',
    to: "",
    tests: [LISTENER],
  },
  {
    check: "a header that contains a second one",
    file: "core/http1/messages.ts",
    from: "if (lowered(name) === undefined || !VALUE.test(value)) {",
    to: "if (lowered(name) === undefined) {",
    tests: [LISTENER, HTTP1],
  },
  {
    check: "the time for a head",
    file: "core/http1/os/server.ts",
    from: "else if (late >= times.headersMsMax) tooLate(wire);",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "the time for a body",
    file: "core/http1/os/server.ts",
    from: "if (lateBody >= times.requestMsMax) {",
    to: "if (lateBody === Infinity) {",
    tests: [LISTENER],
  },
  {
    check: "the time for reading an answer",
    file: "core/http1/os/server.ts",
    from: "if (late >= bounds.writeStallMsMax) wire.close();",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "two framings of one answer",
    file: "core/http1/messages.ts",
    from:
      'if (codings !== undefined && length !== undefined) return err("it is framed in two ways");',
    to: "",
    tests: [HTTP1],
  },
  {
    check: "free connections when descriptors run out",
    file: "core/http1/os/server.ts",
    from: "this.#limits.makeRoom(ROOM_AT_ONCE);",
    to: "",
    tests: [DESCRIPTORS],
  },
];
