/**
 * Attacks on the connection itself. Data only.
 *
 * @module
 */

import { LOGIN, RAW, type Row } from "tests/login/attack_rows/row.ts";

/** W: attacks on the connection that have since become known in the field. */
export const WIRE_ROWS: readonly Row[] = [
  ["W1", "two framings of one request", [RAW, "a length and chunks", "two lengths"]],
  ["W2", "invalid chunks", [RAW, "a malformed chunked body is a 400"]],
  ["W3", "heads that are not all ASCII", [RAW, "bytes that are not ASCII"]],
  ["W4", "connections without a limit", [`${LOGIN}/connections_test.ts`, "closes its own oldest"], [
    "tests/core/http1/os/connection_limits_test.ts",
    "a client whose connections are all busy is refused",
  ], [`${LOGIN}/descriptors_process_test.ts`, "idle connections are closed for new requests"]],
  ["W5", "a refusal that is lost by a reset", [
    "tests/login/http1/os/attacks_test.ts",
    "a client that has sent too much still reads the refusal",
  ]],
];
