/**
 * The settings table: typed values, all faults at once, secrets never shown.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseAgentName, parseEmail } from "core/names.ts";
import {
  duration,
  flag,
  integer,
  jsonList,
  jsonMap,
  list,
  listenAddress,
  oneOf,
  parsed,
  type SettingType,
  text,
  url,
} from "core/settings/setting_types.ts";
import {
  defaulted,
  optional,
  printSettingsCheck,
  printSettingsHelp,
  readSettings,
  required,
} from "core/settings/settings.ts";

const isOidc = (env: Readonly<Record<string, string | undefined>>) =>
  env.WEBVIEW_AUTH_DRIVER !== "basic";
const TABLE = {
  driver: defaulted("WEBVIEW_AUTH_DRIVER", oneOf(["basic", "oidc"]), {
    fallback: "oidc",
    doc: "How people sign in.",
  }),
  issuer: optional("WEBVIEW_OIDC_ISSUER", url({ schemes: ["https"] }), {
    wanted: "must be an issuer URL",
    doc: "Issuer.",
    requiredWhen: { test: isOidc, words: 'when WEBVIEW_AUTH_DRIVER is "oidc"' },
  }),
  clientId: optional("WEBVIEW_OIDC_CLIENT_ID", text(), {
    doc: "Client.",
    requiredWhen: { test: isOidc, words: "" },
  }),
  listen: defaulted("WEBVIEW_LOGIN_LISTEN", listenAddress(), {
    fallback: "0.0.0.0:8736",
    doc: "Where to listen.",
  }),
  hmacKey: required("WEBVIEW_HMAC_KEY", text(), { isSecret: true, doc: "Signs." }),
} as const;

Deno.test("readSettings() returns typed values with defaults", () => {
  const read = readSettings(TABLE, {
    WEBVIEW_OIDC_ISSUER: "https://id.example.org",
    WEBVIEW_OIDC_CLIENT_ID: "fleet",
    WEBVIEW_HMAC_KEY: "k",
    UNRELATED: "x",
  });
  assert(read.ok);
  // The compiler checks the types: a union of literals, a port, a URL.
  const driver: "basic" | "oidc" = read.value.driver;
  const port: number = read.value.listen.port;
  const issuer: URL | undefined = read.value.issuer;
  assert.deepEqual([driver, port, issuer?.host, read.value.hmacKey], [
    "oidc",
    8736,
    "id.example.org",
    "k",
  ]);
  const basic = readSettings(TABLE, { WEBVIEW_AUTH_DRIVER: "basic", WEBVIEW_HMAC_KEY: "k" });
  assert.deepEqual(basic.ok && [basic.value.issuer, basic.value.clientId], [undefined, undefined]);
});

Deno.test("readSettings() reports every fault in the table's order", () => {
  const read = readSettings(TABLE, {
    WEBVIEW_LOGIN_LISTEN: "8736",
    WEBVIEW_OIDC_CLIENT_ID: "",
    WEBVIEW_HMAC_KEY: "\u0000top secret",
  });
  assert.equal(
    printSettingsCheck("fleetctl-login", read),
    `fleetctl-login: Cannot start: 4 settings are unusable
  WEBVIEW_OIDC_ISSUER: not set, must be an issuer URL when WEBVIEW_AUTH_DRIVER is "oidc"
  WEBVIEW_OIDC_CLIENT_ID: not set
  WEBVIEW_LOGIN_LISTEN: value is "8736", must be host:port
  WEBVIEW_HMAC_KEY: the value is unusable
`,
  );
  assert.deepEqual(read.ok ? [] : [read.error.code, read.error.kind], [
    "settings-invalid",
    "settings",
  ]);
});

Deno.test("readSettings() runs joint checks only when each single setting is valid", () => {
  const env = {
    WEBVIEW_AUTH_DRIVER: "basic",
    WEBVIEW_HMAC_KEY: "k",
    WEBVIEW_LOGIN_LISTEN: "0.0.0.0:80",
  };
  const check = (values: { readonly listen: { readonly port: number } }) =>
    values.listen.port < 1024 ? ["WEBVIEW_LOGIN_LISTEN: port is below 1024"] : [];
  const read = readSettings(TABLE, env, [check]);
  assert.deepEqual(read.ok ? [] : [read.error.message, ...read.error.details], [
    "Cannot start: 1 setting is unusable",
    "WEBVIEW_LOGIN_LISTEN: port is below 1024",
  ]);
  const never = () => assert.fail("a check saw a bad setting");
  assert(!readSettings(TABLE, { ...env, WEBVIEW_HMAC_KEY: "" }, [never]).ok);
});

Deno.test("readSettings() ignores inherited properties of the environment", () => {
  const env = Object.create({ WEBVIEW_HMAC_KEY: "inherited" }) as Record<string, string>;
  const read = readSettings({ key: TABLE.hmacKey }, env);
  assert.deepEqual(read.ok ? [] : read.error.details, ["WEBVIEW_HMAC_KEY: not set"]);
});

Deno.test("printSettingsCheck() prints ok", () => {
  assert.equal(printSettingsCheck("x", { ok: true, value: {} }), "ok\n");
});

Deno.test("printSettingsHelp() prints type, default, condition and secrecy", () => {
  assert.equal(
    printSettingsHelp(TABLE),
    `WEBVIEW_AUTH_DRIVER ("basic" or "oidc"; default oidc)
    How people sign in.
WEBVIEW_OIDC_ISSUER (an issuer URL; required when WEBVIEW_AUTH_DRIVER is "oidc")
    Issuer.
WEBVIEW_OIDC_CLIENT_ID (required)
    Client.
WEBVIEW_LOGIN_LISTEN (host:port; default 0.0.0.0:8736)
    Where to listen.
WEBVIEW_HMAC_KEY (required; secret)
    Signs.
`,
  );
});

const emails = jsonMap(parsed(parseEmail), parsed(parseAgentName));
// deno-lint-ignore no-explicit-any
const ROWS: readonly { type: SettingType<any>; given: string; want?: unknown; fault?: string }[] = [
  { type: listenAddress(), given: "127.0.0.1:0", want: { hostname: "127.0.0.1", port: 0 } },
  { type: listenAddress(), given: "[::1]:8731", want: { hostname: "::1", port: 8731 } },
  {
    type: listenAddress(),
    given: "atlas.example.org:1",
    want: { hostname: "atlas.example.org", port: 1 },
  },
  { type: listenAddress(), given: ":8731", fault: 'value is ":8731", must be host:port' },
  { type: listenAddress(), given: "::1:8731", fault: 'value is "::1:8731", must be host:port' },
  { type: listenAddress(), given: "a:65536", fault: 'value is "a:65536", must be host:port' },
  { type: listenAddress(), given: "a:1e3", fault: 'value is "a:1e3", must be host:port' },
  { type: duration(), given: "30d", want: 2_592_000_000 },
  { type: duration(), given: "1h30m", want: 5_400_000 },
  {
    type: duration(),
    given: "soon",
    fault: 'value is "soon", must be a duration such as 30s, 15m, 12h or 30d',
  },
  {
    type: duration({ maxMs: 1000 }),
    given: "2s",
    fault: 'value is "2s", is too long, must be a duration such as 30s, 15m, 12h or 30d',
  },
  {
    type: duration(),
    given: "0",
    fault: 'value is "0", is too short, must be a duration such as 30s, 15m, 12h or 30d',
  },
  { type: integer(1, 9), given: "9", want: 9 },
  { type: integer(1, 9), given: "10", fault: 'value is "10", must be a whole number from 1 to 9' },
  { type: integer(0, 9), given: " ", fault: 'value is " ", must be a whole number from 0 to 9' },
  { type: flag(), given: "Yes", want: true },
  { type: flag(), given: "0", want: false },
  { type: flag(), given: "2", fault: 'value is "2", must be true or false' },
  { type: list(integer(0, 9)), given: "1, 2,,3", want: [1, 2, 3] },
  {
    type: list(integer(0, 9)),
    given: "1,x",
    fault: 'value is "1,x", item "x" must be a whole number from 0 to 9, ' +
      "must be a list separated by commas",
  },
  { type: jsonList(parsed(parseAgentName)), given: '["ada"]', want: ["ada"] },
  { type: jsonList(text()), given: "[1]", fault: 'value is "[1]", must be a JSON list of strings' },
  {
    type: emails,
    given: '{"Mia@Example.org":"mia"}',
    want: new Map([["mia@example.org", "mia"]]),
  },
  { type: emails, given: "{}", want: new Map() },
  { type: emails, given: "[]", fault: 'value is "[]", must be a JSON object of strings' },
  { type: emails, given: "{", fault: 'value is "{", must be a JSON object of strings' },
  {
    type: emails,
    given: '{"__proto__":"mia"}',
    fault:
      'value is "{\\"__proto__\\":\\"mia\\"}", key "__proto__" must have the form name@domain, ' +
      "must be a JSON object of strings",
  },
  {
    type: emails,
    given: '{"a@b.org":"mia","A@b.org":"bob"}',
    fault: 'value is "{\\"a@b.org\\":\\"mia\\",\\"A@b.org\\":\\"bob\\"}", key "A@b.org" appears ' +
      "twice, must be a JSON object of strings",
  },
  {
    type: emails,
    given: '{"a@b.org":"self"}',
    fault: 'value is "{\\"a@b.org\\":\\"self\\"}", value of "a@b.org" the word is reserved, ' +
      "must be a JSON object of strings",
  },
  { type: url(), given: "http://127.0.0.1:8731", want: new URL("http://127.0.0.1:8731") },
  { type: url(), given: "ftp://x", fault: 'value is "ftp://x", must be an https or http URL' },
  { type: url(), given: "atlas", fault: 'value is "atlas", must be an https or http URL' },
  { type: text(), given: "a\nb", fault: 'value is "a\\nb", contains a control character' },
];

for (const row of ROWS) {
  Deno.test(
    `readSettings() reads ${JSON.stringify(row.given.slice(0, 50))}${
      row.fault === undefined ? "" : " as a fault"
    } of "${row.type.wanted ?? "any text"}"`,
    () => {
      const read = readSettings({ value: required("X", row.type, { doc: "" }) }, { X: row.given });
      if (row.fault === undefined) assert.deepEqual(read.ok && read.value.value, row.want);
      else assert.deepEqual(read.ok ? [] : read.error.details, [`X: ${row.fault}`]);
    },
  );
}

Deno.test("readSettings() never shows a secret, whatever is wrong with it", () => {
  const types = [emails, url(), jsonList(text()), list(integer(0, 1)), integer(0, 1), text()];
  for (const type of types) {
    const setting = required("X", type as SettingType<unknown>, { doc: "", isSecret: true });
    for (const given of ['{"hunter2":"hunter2"}', "https://me:hunter2@x.org", "hunter2\n", "[1]"]) {
      const read = readSettings({ setting }, { X: given });
      if (!read.ok) assert(!JSON.stringify(read.error).includes("hunter2"), JSON.stringify(read));
    }
  }
});
