/**
 * The checks of the listener and the client beneath the login proxy, as `mutants.ts` has those of the proxy.
 * Data only.
 *
 * @module
 */

import type { Mutant } from "tests/login/mutants.ts";

const ATTACKS = "tests/core/os/http1_attacks_test.ts";
const CONNECTIONS = "tests/login/connections_test.ts";
const CROWD = "tests/core/os/http1_crowd_test.ts";
const DESCRIPTORS = "tests/login/descriptors_process_test.ts";
const RAW = "tests/login/raw_test.ts";
const UPSTREAM = "tests/core/os/upstream_test.ts";
const LISTENER = "tests/core/os/http1_server_test.ts";
const HTTP1 = "tests/core/http1_test.ts";

/** All of them. */
export const HTTP_MUTANTS: readonly Mutant[] = [
  {
    check: "the whole of a head that is not all ASCII",
    file: "core/os/latin1.ts",
    from: "if (read !== text.length || written !== text.length) into",
    to: "if (written !== text.length) into",
    tests: [UPSTREAM],
  },
  {
    check: "what may stand in a host",
    file: "core/http1_request.ts",
    from: "minor === 1 : !isAuthority(host)",
    to: "minor === 1 : false",
    tests: [ATTACKS],
  },
  {
    check: "what may stand in the host of a whole address",
    file: "core/os/proxy_server.ts",
    from: "if (!isAuthority(host)) return undefined;",
    to: "",
    tests: [ATTACKS],
  },
  {
    check: "an upgrade in HTTP/1.0",
    file: "core/http1_request.ts",
    from: "const isUpgrade = minor === 1 && ",
    to: "const isUpgrade = ",
    tests: [ATTACKS],
  },
  {
    check: "a peer that leaves after a body that nobody read",
    file: "core/os/http1_body.ts",
    from: "if (isRest) this.#end();",
    to: "if (isRest) this.#wire.bodyLooks = undefined;",
    tests: [ATTACKS],
  },
  {
    check: "a body that is too short on its way",
    file: "core/os/upstream.ts",
    from: "if (left === 0) return;",
    to: "if (left >= 0) return;",
    tests: [ATTACKS],
  },
  {
    check: "a body that is too long on its way",
    file: "core/os/upstream.ts",
    from: "if (left < 0) break;",
    to: "",
    tests: [ATTACKS],
  },
  {
    check: "the extensions of chunks",
    file: "core/chunked.ts",
    from: "if ((extensionBytes += text.length - size.length) > EXTENSION_BYTES_MAX) {",
    to: "if (extensionBytes > EXTENSION_BYTES_MAX) {",
    tests: [ATTACKS],
  },
  {
    check: "chunks that are none",
    file: "login/proxy/body.ts",
    from: 'return thrown instanceof SyntaxError ? "malformed" : "broken";',
    to: 'return "broken";',
    tests: [RAW],
  },
  {
    check: "the refusal of an upgrade that arrives",
    file: "core/os/http1_tunnel.ts",
    from: "if (!wire.hasLeft) await wire.linger();",
    to: "",
    tests: [ATTACKS],
  },
  {
    check: "an answer for HTTP/1.0 that broke off",
    file: "core/os/http1_answer.ts",
    from: "to.head.minor === 0 ? await withKnownEnd(wire, made, to) : made",
    to: "made",
    tests: [ATTACKS],
  },
  {
    check: "the connections of one client",
    file: "core/os/http1_crowd.ts",
    from: "if (own !== undefined && own.size >= this.#bounds.connectionsOfOneMax) {",
    to: "if (own !== undefined && own.size < 0) {",
    tests: [CROWD, CONNECTIONS],
  },
  {
    check: "the connections of all clients",
    file: "core/os/http1_crowd.ts",
    from: "if (this.#all.size < this.#bounds.connectionsMax) return true;",
    to: "if (this.#all.size >= 0) return true;",
    tests: [CROWD],
  },
  {
    check: "a connection at work, which makes no room",
    file: "core/os/http1_crowd.ts",
    from: 'return waiting === "head" || waiting === "end";',
    to: "return waiting !== undefined;",
    tests: [CROWD],
  },
  {
    check: "a body that comes for long and makes room",
    file: "core/os/http1_crowd.ts",
    from: "return bodyLooks !== undefined && bodyLooks >= SLOW_LOOKS;",
    to: "return bodyLooks === -1;",
    tests: [CROWD],
  },
  {
    check: "an answer that is not taken and makes room",
    file: "core/os/http1_crowd.ts",
    from: 'if (waiting === "taker" && looks >= SLOW_LOOKS) return true;',
    to: "",
    tests: [CROWD],
  },
  {
    check: "how many are told that there is no room",
    file: "core/os/http1_server.ts",
    from: "if (this.#turnedAway >= this.#bounds.turnedAwayMax) return wire.close();",
    to: "",
    tests: [CROWD],
  },
  {
    check: "connections of proxies that speak for many",
    file: "login/caller.ts",
    from: "return isTrusted ? undefined : keys[0];",
    to: "return keys[0];",
    tests: [CONNECTIONS],
  },
  {
    check: "two framings of one request",
    file: "core/http1_request.ts",
    from: "const isOne = length === null && minor === 1",
    to: "const isOne = minor === 1",
    tests: [LISTENER],
  },
  {
    check: "chunks in a version that has none",
    file: "core/http1_request.ts",
    from: "const isOne = length === null && minor === 1",
    to: "const isOne = length === null",
    tests: [LISTENER],
  },
  {
    check: "a length of a request that is no number",
    file: "core/http1_request.ts",
    from: "const LENGTH = /^[0-9]{1,15}$/;",
    to: "const LENGTH = /^[0-9a-fx+]{1,15}$/;",
    tests: [LISTENER, RAW],
  },
  {
    check: "a body behind an upgrade",
    file: "core/http1_request.ts",
    from: 'if (isUpgrade && framing.kind !== "none") return err(400);',
    to: "",
    tests: [LISTENER],
  },
  {
    check: "the host of a request",
    file: "core/http1_request.ts",
    from: "host === null ? minor === 1 : ",
    to: "host === null ? false : ",
    tests: [LISTENER],
  },
  {
    check: "a bare line feed in a head",
    file: "core/os/http1_wire.ts",
    from: "if (at === this.#start || buffer[at - 1] !== CR) return 400;",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "another protocol at the first byte",
    file: "core/os/http1_wire.ts",
    from:
      "if (from === this.#start && from < this.#end && !isHeadStart(buffer[from] ?? 0)) return 400;",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "the size of a head",
    file: "core/wire_limits.ts",
    from: "headBytesMax: 16 * KIB,",
    to: "headBytesMax: 1024 * KIB,",
    tests: [LISTENER],
  },
  {
    check: "the rest of a body that nobody read",
    file: "core/os/http1_server.ts",
    from: "const isRead = body === undefined || body.discard();",
    to: "const isRead = body === undefined || body.discard() || true;",
    tests: [LISTENER],
  },
  {
    check: "the end of a connection over a body that still comes",
    file: "core/os/http1_server.ts",
    from: "await wire.linger();\n    }\n    return false;",
    to: "}\n    return false;",
    tests: [LISTENER],
  },
  {
    check: "the length that an answer has told",
    file: "core/os/http1_answer.ts",
    from: 'if (left < 0) throw new RangeError("the answer is longer than it says");',
    to: "",
    tests: [LISTENER],
  },
  {
    check: "a second header within one",
    file: "core/http1.ts",
    from: "if (lowered(name) === undefined || !VALUE.test(value)) {",
    to: "if (lowered(name) === undefined) {",
    tests: [LISTENER, HTTP1],
  },
  {
    check: "the time for a head",
    file: "core/os/http1_server.ts",
    from: "else if (late >= times.headersMsMax) tooLate(wire);",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "the time for a body",
    file: "core/os/http1_server.ts",
    from: "if (lateBody >= times.requestMsMax) {",
    to: "if (lateBody === Infinity) {",
    tests: [LISTENER],
  },
  {
    check: "the time for taking an answer",
    file: "core/os/http1_server.ts",
    from: "if (late >= bounds.takerMsMax) wire.close();",
    to: "",
    tests: [LISTENER],
  },
  {
    check: "two framings of one answer",
    file: "core/http1.ts",
    from:
      'if (codings !== undefined && length !== undefined) return err("it is framed in two ways");',
    to: "",
    tests: [HTTP1],
  },
  {
    check: "room when descriptors run out",
    file: "core/os/http1_server.ts",
    from: "this.#crowd.makeRoom(ROOM_AT_ONCE);",
    to: "",
    tests: [DESCRIPTORS],
  },
];
