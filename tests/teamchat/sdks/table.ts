/**
 * `./dev bench teamchat-table`: hostile deliveries to the gateway and to three SDKs of the vendor,
 * side by side. A cell is the HTTP status and the number of replies that reached the connector.
 * **ET** means that an outside host received the bot's bearer token. Exits with 1 when a cell of
 * the gateway's column differs from the expectation.
 *
 * @module
 */

import { SignJWT } from "jose";
import { defined } from "core/defined.ts";
import { agentOf, BEA_OWNER, messageOf } from "tests/teamchat/fixture.ts";
import { connectBare } from "tests/support/gateway_fixture.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import { APP_ID, type KitKey, TENANT } from "tests/teamchat/connector/keys.ts";
import {
  installSdks,
  type OwnSubject,
  SDKS,
  startOwn,
  startSdk,
  type Subject,
} from "tests/teamchat/sdks/subjects.ts";
import { PUBLIC_ISSUER, startWorld, type World } from "tests/teamchat/sdks/world.ts";

const MINUTE = 60;

/** One hostile delivery: how it differs from a good one. */
interface Case {
  readonly name: string;
  /** The required start of the gateway's cell. */
  readonly own: string;
  readonly claims?: (at: Facts) => Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly activity?: (at: Facts) => Readonly<Record<string, unknown>>;
  readonly authorization?: (token: string) => string | undefined;
  readonly key?: (at: Facts) => KitKey;
  readonly token?: (at: Facts) => Promise<string>;
  readonly body?: string;
  /** How many copies are delivered at once. */
  readonly times?: number;
}

interface Facts {
  readonly world: World;
  readonly now: number;
  readonly unendorsed: KitKey;
  readonly webchat: KitKey;
  readonly strange: KitKey;
}

const entra = (tenant: string) => `https://sts.windows.net/${tenant}/`;
const FOREIGN_TENANT = "12345678-1234-4234-8234-123456789012";

const CASES: readonly Case[] = [
  { name: "valid control", own: "202/1" },
  { name: "no authorization", own: "401/0", authorization: () => undefined },
  { name: "Basic", own: "401/0", authorization: () => "Basic YTpi" },
  { name: "bare token, no scheme", own: "401/0", authorization: (token) => token },
  { name: "`bearer` in lower case", own: "202/1", authorization: (token) => `bearer ${token}` },
  { name: "alg none", own: "401/0", token: (at) => unsigned(at) },
  { name: "HS256 with the public key", own: "401/0", token: (at) => symmetric(at) },
  { name: "wrong key under a known kid", own: "401/0", key: ({ strange }) => strange },
  { name: "RS512 by the right key", own: "401/0", token: (at) => withAlgorithm(at) },
  { name: "unknown `crit` header", own: "401/0", token: (at) => critical(at) },
  {
    name: "expired 4 min (inside skew)",
    own: "202/1",
    claims: ({ now }) => ({ exp: now - 4 * MINUTE }),
  },
  { name: "expired 6 min", own: "401/0", claims: ({ now }) => ({ exp: now - 6 * MINUTE }) },
  { name: "not before +6 min", own: "401/0", claims: ({ now }) => ({ nbf: now + 6 * MINUTE }) },
  { name: "no `exp`", own: "401/0", claims: () => ({ exp: undefined }) },
  { name: "`exp` 10 years away", own: "401/0", claims: ({ now }) => ({ exp: now + 315_360_000 }) },
  { name: "aud wrong", own: "401/0", claims: () => ({ aud: "other" }) },
  { name: "aud missing", own: "401/0", claims: () => ({ aud: undefined }) },
  { name: "aud array with the app", own: "401/0", claims: () => ({ aud: [APP_ID] }) },
  { name: "aud `api://botid-…`", own: "401/0", claims: () => ({ aud: `api://botid-${APP_ID}` }) },
  { name: "iss wrong", own: "401/0", claims: () => ({ iss: "https://evil.test" }) },
  { name: "iss missing", own: "401/0", claims: () => ({ iss: undefined }) },
  {
    name: "gov issuer on public",
    own: "401/0",
    claims: () => ({ iss: "https://api.botframework.us" }),
  },
  {
    name: "Entra foreign tenant, appid of the bot",
    own: "401/0",
    claims: () => ({ iss: entra(FOREIGN_TENANT), tid: FOREIGN_TENANT, ver: "1.0", appid: APP_ID }),
  },
  {
    name: "own-tenant Entra, no serviceurl, evil body URL",
    own: "401/0",
    claims: () => ({
      iss: entra(TENANT),
      tid: TENANT,
      ver: "1.0",
      appid: APP_ID,
      serviceurl: undefined,
    }),
    activity: ({ world }) => ({ serviceUrl: world.foreignUrl }),
  },
  {
    name: "body serviceUrl differs from the claim",
    own: "403/0",
    activity: ({ world }) => ({ serviceUrl: world.foreignUrl }),
  },
  {
    name: "serviceurl claim missing, evil body",
    own: "403/0",
    claims: () => ({ serviceurl: undefined }),
    activity: ({ world }) => ({ serviceUrl: world.foreignUrl }),
  },
  {
    name: "claim and body both name an evil host",
    own: "403/0",
    claims: ({ world }) => ({ serviceurl: world.foreignUrl }),
    activity: ({ world }) => ({ serviceUrl: world.foreignUrl }),
  },
  { name: "body serviceUrl missing", own: "40", activity: () => ({ serviceUrl: undefined }) },
  { name: "serviceUrl is a number", own: "400/0", activity: () => ({ serviceUrl: 5 }) },
  { name: "key not endorsed for msteams", own: "403/0", key: ({ unendorsed }) => unendorsed },
  {
    name: "webchat with its own key, forged owner",
    own: "403/0",
    key: ({ webchat }) => webchat,
    activity: () => ({ channelId: "webchat" }),
  },
  { name: "channelId `emulator`", own: "403/0", activity: () => ({ channelId: "emulator" }) },
  { name: "not JSON", own: "400/0", body: "{" },
  { name: "empty body", own: "400/0", body: "" },
  { name: "array body", own: "400/0", body: "[]" },
  { name: "5 MB body", own: "413/0", body: `{"text":"${"x".repeat(5_000_000)}"}` },
  {
    name: "20 000 deep JSON",
    own: "400/0",
    body: `{"value":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
  },
  { name: "no conversation", own: "400/0", activity: () => ({ conversation: undefined }) },
  { name: "no type", own: "400/0", activity: () => ({ type: undefined }) },
  { name: "from null", own: "", activity: () => ({ from: null }) },
  { name: "text is a number", own: "400/0", activity: () => ({ text: 5 }) },
  {
    name: "conversation id `../../v3/attachments`",
    own: "",
    activity: () => ({
      conversation: { id: "../../v3/attachments", conversationType: "personal", tenantId: TENANT },
    }),
  },
  {
    name: "foreign tenant in the conversation",
    own: "403/0",
    activity: () => ({
      conversation: { id: "a:bea", conversationType: "personal", tenantId: FOREIGN_TENANT },
    }),
  },
  {
    name: "unknown invoke",
    own: "501/0",
    activity: () => ({ type: "invoke", name: "constructor", value: {} }),
  },
  { name: "same id delivered 5 times at once", own: "202/1", times: 5 },
];

/** One row, a cell for each subject, the gateway's first. */
export interface TableRow {
  readonly name: string;
  readonly cells: readonly string[];
}

/** The resulting table. */
export interface Table {
  readonly subjects: readonly string[];
  readonly rows: readonly TableRow[];
  /** Cells of the gateway's column that differ from the expectation, one line each. */
  readonly wrong: readonly string[];
}

/** Runs the table, prints it, and sets exit code 1 when the gateway's column is wrong. */
export async function benchTeamchatTable(): Promise<void> {
  await installSdks(console.log);
  const { subjects, rows, wrong } = await runTable();
  console.log(`| case | ${subjects.join(" | ")} |`);
  console.log(`|---|${"---|".repeat(subjects.length)}`);
  for (const { name, cells } of rows) console.log(`| ${name} | ${cells.join(" | ")} |`);
  if (wrong.length === 0) return;
  console.error(`the gateway's column differs from the expectation:\n${wrong.join("\n")}`);
  Deno.exitCode = 1;
}

/** Runs every case on the gateway and on the SDKs, which must be installed. */
export async function runTable(): Promise<Table> {
  await using world = await startWorld();
  const at: Facts = {
    world,
    now: Math.floor(Date.now() / 1000),
    unendorsed: await world.keys.make("key-2", { endorsements: undefined }),
    webchat: await world.keys.make("key-3", { endorsements: ["webchat"] }),
    strange: await world.keys.make("key-1", { isHidden: true }),
  };
  const own = await startOwn(world);
  const echo = await echoAgent(own);
  const subjects: Subject[] = [own];
  try {
    for (const name of Object.keys(SDKS) as (keyof typeof SDKS)[]) {
      subjects.push(await startSdk(name, world, { isEcho: true }));
    }
    return await fillTable(subjects, at);
  } finally {
    echo();
    for (const subject of subjects) await subject.stop();
  }
}

async function fillTable(subjects: readonly Subject[], at: Facts): Promise<Table> {
  const rows: TableRow[] = [];
  const wrong: string[] = [];
  for (const one of CASES) {
    const cells: string[] = [];
    for (const subject of subjects) cells.push(await cellOf(one, subject, at));
    const mine = cells[0] ?? "";
    if (!mine.startsWith(one.own) || mine.includes("ET")) wrong.push(`${one.name}: ${mine}`);
    rows.push({ name: one.name, cells });
  }
  const fetches: number[] = [];
  for (const subject of subjects) fetches.push(await unknownKeys(subject, at));
  rows.push({ name: "50 unknown kids: key fetches", cells: fetches.map(String) });
  if ((fetches[0] ?? 0) > 1) wrong.push(`unknown kids: ${fetches[0]} fetches`);
  return { subjects: subjects.map(({ name }) => name), rows, wrong };
}

/**
 * Connects as bea, who answers every turn with its own text; returns a function that disconnects
 * her.
 */
async function echoAgent(own: OwnSubject): Promise<() => void> {
  const key = own.keyOf("bea");
  if (key === undefined) throw new Error("there is no key of bea");
  const statement = { agent: "bea", owner: BEA_OWNER, gateway: own.register };
  const nonce = crypto.randomUUID();
  const token = await signRegistration({ ...statement, nonce }, key, Date.now());
  const client = await connectBare(`ws://${own.register}/register`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const agent = await agentOf(client, "bea");
  (async () => {
    while (true) {
      const { turnId, text } = await agent.begin();
      agent.answer(turnId, text);
    }
  })().catch(() => {});
  return () => agent.connection.terminate();
}

async function cellOf(one: Case, subject: Subject, at: Facts): Promise<string> {
  const { world } = at;
  world.reset();
  const activity = messageOf(world, one.activity?.(at));
  const token = await one.token?.(at) ?? await tokenOf(at, {
    ...(one.claims === undefined ? {} : { claims: one.claims(at) }),
    ...defined({ header: one.header }),
    ...(one.key === undefined ? {} : { key: one.key(at) }),
  });
  const authorization = one.authorization === undefined
    ? `Bearer ${token}`
    : one.authorization(token);
  const body = one.body ?? JSON.stringify(activity);
  const post = () => postTo(subject, body, authorization);
  const statuses = await Promise.all(Array.from({ length: one.times ?? 1 }, post));
  // The SDKs answer the platform after their reply, the gateway before it.
  const isTaken = "register" in subject && statuses.some((status) => status.startsWith("2"));
  for (let waited = 0; isTaken && waited < 2_000 && world.messages() === 0; waited += 25) {
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  // A second reply, or a token theft, would happen within this time.
  await new Promise((resolve) => setTimeout(resolve, isTaken ? 300 : 50));
  const theft = world.thefts() > 0 ? " **ET**" : "";
  return `${[...new Set(statuses)].join(" ")}/${world.messages()}${theft}`;
}

async function postTo(
  subject: Subject,
  body: string,
  authorization: string | undefined,
): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${subject.port}/api/messages`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...defined({ authorization }),
      },
      body,
      signal: AbortSignal.timeout(20_000),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch {
    return "cut";
  }
}

async function unknownKeys(subject: Subject, at: Facts): Promise<number> {
  at.world.reset();
  const body = JSON.stringify(messageOf(at.world));
  for (let n = 0; n < 50; n++) {
    const token = await tokenOf(at, { header: { kid: `strange-${n}` }, key: at.strange });
    await postTo(subject, body, `Bearer ${token}`);
  }
  return at.world.keyFetches();
}

function tokenOf(
  { world }: Facts,
  change: Parameters<World["keys"]["token"]>[1] = {},
): Promise<string> {
  return world.keys.token(world.serviceUrl, {
    ...change,
    claims: { iss: PUBLIC_ISSUER, ...change.claims },
  });
}

const base64 = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });

async function unsigned(at: Facts): Promise<string> {
  const claims = (await tokenOf(at)).split(".")[1];
  return `${base64({ alg: "none", kid: "key-1" })}.${claims}.`;
}

function claimsOf({ world, now }: Facts) {
  return { iss: PUBLIC_ISSUER, aud: APP_ID, exp: now + 600, serviceurl: world.serviceUrl };
}

async function symmetric(at: Facts): Promise<string> {
  const secret = new TextEncoder().encode(JSON.stringify(at.world.keys.current.publicJwk));
  return await new SignJWT(claimsOf(at)).setProtectedHeader({ alg: "HS256", kid: "key-1" })
    .sign(secret);
}

/** The right key, used with another algorithm of its family. */
async function withAlgorithm(at: Facts): Promise<string> {
  const { privateKey, kid } = at.world.keys.current;
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", privateKey);
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-512" };
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
  return await new SignJWT(claimsOf(at)).setProtectedHeader({ alg: "RS512", kid }).sign(key);
}

/** A token with a `crit` header: a reader that does not know `x-odd` must refuse it. */
async function critical(at: Facts): Promise<string> {
  const { privateKey, kid } = at.world.keys.current;
  const head = base64({ alg: "RS256", kid, typ: "JWT", crit: ["x-odd"], "x-odd": 1 });
  const text = `${head}.${base64(claimsOf(at))}`;
  const bytes = new TextEncoder().encode(text);
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", privateKey, bytes);
  return `${text}.${
    new Uint8Array(signature).toBase64({ alphabet: "base64url", omitPadding: true })
  }`;
}
