/**
 * The two lists of bad input for team chat, tokens and answers, row by row: the input, the expected
 * result, and the names of the tests that show it. A row whose test is renamed or missing fails
 * here.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";

/** One row: its number, input and expectation, and the tests that show it. */
type Row = readonly [
  number: number,
  given: string,
  expected: string,
  shown: Readonly<Record<string, readonly string[]>>,
];

const SIGNATURE = "token/signature_test";
const CLAIMS = "token/claims_test";
const SERVICE = "token/service_test";
const KEYS = "token/key_set_test";
/** The checks that apply to every token case. */
const CASES = "token/cases";
const FAULTS = "reply/faults_test";
const APP_TOKEN = "reply/app_token_test";
const STREAM = "reply/stream_test";

/** Tokens of deliveries. */
const TOKENS: readonly Row[] = [
  [1, "no header", "401", { [SIGNATURE]: ["no header", "an empty header"] }],
  [2, "Basic", "401", { [SIGNATURE]: ["Basic"] }],
  [3, "a token without a scheme", "401", { [SIGNATURE]: ["a bare token"] }],
  [4, "two headers, or two tokens in one", "400 or 401", {
    raw_test: ["two good authorizations"],
    [SIGNATURE]: ["two tokens"],
  }],
  [5, "a token in the query", "ignored, 401", {
    [SIGNATURE]: ["a token in the query string is ignored"],
  }],
  [6, "alg none", "401", { [SIGNATURE]: ["alg none"] }],
  [7, "HS256 keyed with the public key", "401", { [SIGNATURE]: ["HS256 with the public key"] }],
  [8, "a known kid, another key", "401", { [SIGNATURE]: ["another key with a known key id"] }],
  [9, "no kid", "401", { [SIGNATURE]: ["no key id"] }],
  [10, "jwk, jku, x5u, x5c in the header", "401, and nothing is fetched", {
    [SIGNATURE]: [
      "a key in the header (jwk)",
      "a key address in the header (jku)",
      "a certificate address in the header (x5u)",
      "a certificate in the header (x5c)",
    ],
    [CASES]: ["an address of the token was asked"],
  }],
  [11, "an unknown crit", "401", { [SIGNATURE]: ["an unknown crit"] }],
  [12, "RS512, PS256, ES256", "401", { [SIGNATURE]: ["RS512 by the right key", "PS256", "ES256"] }],
  [13, "exp 4 and 6 minutes ago", "202 and 401", {
    [CLAIMS]: ["an expired token, 4 minutes", "an expired token, 6 minutes"],
  }],
  [14, "no exp, a text, ten years", "401", {
    [CLAIMS]: ["no exp", "exp as text", "exp in ten years"],
  }],
  [15, "nbf in 4 and 6 minutes", "202 and 401", {
    [CLAIMS]: ["nbf in 4 minutes", "nbf in 6 minutes"],
  }],
  [16, "iat in the future", "401", { [CLAIMS]: ["iat in 6 minutes"] }],
  [17, "audience wrong, missing, a list, the connector; an alias", "401; 202 where configured", {
    [CLAIMS]: [
      "another audience",
      "no audience",
      "a list of audiences",
      "the connector as audience",
      "an alias that is not configured",
      "an audience that is configured is accepted",
    ],
  }],
  [18, "issuer wrong, missing, of another cloud, with a slash", "401", {
    [CLAIMS]: [
      "another issuer",
      "no issuer",
      "the issuer of another cloud",
      "the issuer with a slash",
    ],
  }],
  [19, "a token of the own or another tenant", "401", {
    [CLAIMS]: [
      "a token of the own tenant",
      "a token of the second version of the own tenant",
      "a token of another tenant for this bot",
    ],
  }],
  [20, "tokens of an emulator and of a skill", "401", {
    [CLAIMS]: ["an emulator's token", "a skill's token"],
  }],
  [21, "no claim serviceurl", "403", { [SERVICE]: ["no service URL in the token"] }],
  [22, "a claim of another host, port, scheme, path", "403", {
    [SERVICE]: [
      "another host in the activity",
      "another port in the activity",
      "another scheme in the activity",
      "another path in the activity",
    ],
  }],
  [23, "a slash less", "202", { [SERVICE]: ["a slash less"] }],
  [24, "a foreign host in claim and body", "403, and nothing goes out", {
    [SERVICE]: ["a foreign host in both"],
    [CASES]: ["another host was asked"],
  }],
  [25, "user, look-alikes, final dot, address, no TLS", "403", {
    [SERVICE]: [
      "a user name",
      "a look-alike host",
      "a look-alike name in punycode",
      "a name in another script",
      "a final dot",
      "an address",
      "an IPv6 address",
      "the platform's host without TLS",
    ],
  }],
  [26, "a key that is not endorsed", "403", {
    [SERVICE]: ["a key that is endorsed for nothing", "a key that is endorsed for another channel"],
  }],
  [27, "another channel of the bot with a forged owner", "403", {
    [SERVICE]: ["another channel with a forged owner", "channel emulator", "no channel"],
  }],
  [28, "a head that is too long", "431, or 401", {
    raw_test: ["a head of 17 KB"],
    [SIGNATURE]: ["a token of 12 KB"],
  }],
  [29, "ten thousand unknown keys", "one fetch in a while", {
    [KEYS]: ["ten thousand unknown keys cause one fetch per cooldown"],
  }],
  [30, "no keys at start, or later", "503 until they are there; old ones serve", {
    [KEYS]: [
      "without keys the answer is 503, until the keys are loaded",
      "good keys are kept when the key set is",
    ],
  }],
  [31, "keys that change under traffic", "the new counts at once, the old not after it is gone", {
    [KEYS]: ["a new key is used at once; a removed key is refused, also for cached tokens"],
  }],
  [32, "a key set that is broken", "the keys before it serve", {
    [KEYS]: [
      "a redirect",
      "an error",
      "no JSON",
      "ten megabytes",
      "no keys",
      "an elliptic key",
      "two keys of one name",
      "a key set that hangs delays no token whose key is known",
    ],
  }],
  [33, "a good delivery again", "no second turn", {
    turn_test: ["the same delivery five times at once is one turn"],
    handover_process_test: ["a repeated delivery makes no second turn"],
  }],
];

/** Answers on their way out. */
const ANSWERS: readonly Row[] = [
  [
    67,
    "an identity provider that refuses, is late or talks nonsense; 100 sends",
    "1 token asked for",
    {
      [APP_TOKEN]: [
        "invalid_client",
        "a wrong secret (AADSTS7000215)",
        "an expired secret (AADSTS7000222)",
        "an unknown tenant (AADSTS90002)",
        "429",
        "a request that times out",
        "no JSON",
        "no token",
        "a hundred simultaneous sends request one token",
        "a bot of one tenant requests the app token from its own tenant",
        "a bot of several tenants requests the app token from the cloud's tenant",
      ],
    },
  ],
  [68, "401 of the connector", "one new token", {
    [APP_TOKEN]: ["a refused token is requested once more"],
    [FAULTS]: ["a refused token", "answers share one app token, renew an expired one once"],
  }],
  [69, "429 with Retry-After of every kind", "waited as long as it says, within bounds", {
    "reply/retry_after_test": [
      "seconds",
      "a date",
      "no header",
      "a negative number",
      "a huge number",
      "words",
    ],
    [FAULTS]: ["one 429 on a chunk", "429 twice"],
  }],
  [70, "504 after it was accepted", "once", {
    [FAULTS]: [
      "504 after the final was taken",
      "504 after the line was accepted",
      "504 after the text was accepted",
    ],
    "reply/exactly_once_test": ["each run of faults and kills delivers the answer exactly once"],
  }],
  [71, "a connection cut before and after", "once", {
    [FAULTS]: [
      "the final cut before it was accepted",
      "the final cut after it was accepted",
      "the connection closed before the line was accepted",
      "the connection closed after the line was accepted",
      "the connection closed before the text was accepted",
      "the connection closed after the text was accepted",
    ],
  }],
  [72, "a redirect to another host", "not followed", { [FAULTS]: ["a redirect to another host"] }],
  [73, "413", "smaller pieces", { [FAULTS]: ["413 once", "413 always"] }],
  [74, "403, blocked", "the agent is told, nothing more is written there", {
    [FAULTS]: ["blocked"],
    proactive_test: ["a conversation that removed the bot waits until"],
  }],
  [75, "404", "the same", { [FAULTS]: ["gone"] }],
  [76, "an answer that never ends, or is a gigabyte", "cut off", {
    [FAULTS]: ["an answer to the final that breaks off", "a gigabyte as an answer"],
    "core/http1/os/http_call_test": [
      "silence",
      "a head that stalls",
      "a body that stalls",
      "a body without an end, in chunks",
    ],
  }],
  [77, "every fault of a stream", "the whole answer, once", {
    [FAULTS]: [
      "429 on every chunk",
      "exceeded time on a chunk",
      "streams not allowed at a chunk",
      "streams not allowed at the first request",
      "one 500 on a chunk",
      "one 500 on the final",
      "500 on every final",
      "an order error on a chunk",
      "no id in the answer to the first request",
    ],
    turn_test: ["the stop button cancels the turn, and no further text is sent"],
  }],
  [78, "a turn of three minutes", "continues as edits", {
    [FAULTS]: ["the answer of a turn of three minutes continues as edits of one message"],
  }],
  [79, "words that are taken back", "the end replaces them", {
    [STREAM]: ["an answer that retracts text is complete at the end"],
  }],
  [80, "a thousand tokens a second", "a request a second at most", {
    [STREAM]: ["a thousand tokens a second are one request a second"],
  }],
  [81, "answers of nothing, of 200 KB, cut in fences, tables, surrogates", "whole and readable", {
    [STREAM]: ["empty", "blanks", "200 KB of words", "a table", "pairs of surrogates"],
    [FAULTS]: ["100 KB arrive in order, with their code fences"],
  }],
  [82, "the gateway stops in the midst of an answer", "the next start continues", {
    turn_test: ["delivery of an answer continues after a restart"],
    kill_test: ["a killed gateway loses no accepted turn"],
  }],
  [83, "a clock that is set", "no answer is lost", {
    [STREAM]: ["a clock that is set loses no answer", "ten minutes ahead", "ten minutes back"],
  }],
  [84, "secrets", "in no log, error, page or core of the program", {
    [STREAM]: ["neither secret nor token is in a log, health, metrics or an answer"],
    [APP_TOKEN]: ["health reports once why there is no app token"],
  }],
];

const texts = new Map<string, Promise<string>>();

/** Returns the source of a test file; each file is read once. */
function sourceOf(file: string): Promise<string> {
  const known = texts.get(file);
  if (known !== undefined) return known;
  const folder = file.startsWith("core/") ? "" : "teamchat/";
  const text = Deno.readTextFile(`${TREE}tests/${folder}${file}.ts`);
  texts.set(file, text);
  return text;
}

for (const [what, rows] of Object.entries({ token: TOKENS, answer: ANSWERS })) {
  Deno.test(`every row of the list of bad ${what}s has its tests`, async () => {
    const missing: string[] = [];
    for (const [number, given, expected, shown] of rows) {
      assert.ok(given !== "" && expected !== "" && Object.keys(shown).length > 0, `row ${number}`);
      for (const [file, names] of Object.entries(shown)) {
        const source = await sourceOf(file);
        assert.ok(names.length > 0, `row ${number}: ${file}`);
        // The start of a string, or an unquoted key of a table.
        const isThere = (name: string) =>
          source.includes(`"${name}`) || source.includes(`\`${name}`) ||
          source.split("\n").some((line) => line.trim().startsWith(`${name}: [`));
        missing.push(
          ...names.filter((name) => !isThere(name)).map((name) => `${number}: ${file}: ${name}`),
        );
      }
    }
    assert.deepEqual(missing, []);
  });
}

Deno.test("the lists have no gaps", () => {
  const numbers = (rows: readonly Row[]) => rows.map(([number]) => number);
  const from = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, n) => first + n);
  assert.deepEqual(numbers(TOKENS), from(1, 33));
  assert.deepEqual(numbers(ANSWERS), from(67, 84));
});
