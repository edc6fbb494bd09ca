/**
 * A host queries a gateway for the agents that are connected from that host. Its dial key gives
 * access to this list and to nothing else.
 *
 * @module
 */

import assert from "node:assert/strict";
import { askElsewhere } from "cli/gateway_elsewhere.ts";
import type { VerbContext } from "cli/context.ts";
import { HOST_AGENTS_PATH, printStatement, statementText } from "core/dial/host_agents.ts";
import { type DialKey, generateDialKey, signProof } from "core/dial/proof.ts";
import { ownNames } from "core/net/host_name.ts";
import type { HostName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { answerHost } from "gateway/dial/host_agents.ts";
import { memoryHost } from "tests/fakes/host.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const GATEWAY = "atlas:8735";
const URL_OF = `http://${GATEWAY}${HOST_AGENTS_PATH}`;
const SESSIONS = [
  { agent: "ada", host: "boreas" },
  { agent: "bob", host: "atlas" },
  { agent: "host:boreas", host: "boreas" },
];

async function scene() {
  const { key, stored } = await generateDialKey();
  const machine = memoryHost({ now: NOW });
  const parts = {
    ...machine,
    keys: { enrolled: async (who: string) => who === "host:boreas" ? [key.publicKey] : undefined },
    registry: { all: () => SESSIONS as never },
    isOwnName: ownNames(["atlas"]),
  };
  const ask = (request: Request) => answerHost(request, "10.0.0.2", parts);
  return { key, stored, ask };
}

async function stated(
  key: DialKey,
  { host = "boreas", atMs = NOW, gateway = GATEWAY, headers = {} } = {},
): Promise<Request> {
  const statement = { host, atMs };
  const proof = await signProof(key, statementText(statement, gateway));
  return new Request(URL_OF, {
    headers: { host: GATEWAY, authorization: printStatement(statement, proof), ...headers },
  });
}

Deno.test("a host gets the list of its agents", async () => {
  const { key, ask } = await scene();
  const answer = await ask(await stated(key));
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), { agents: ["ada"] });
});

Deno.test("every other caller gets the same refusal", async () => {
  const { key, ask } = await scene();
  const other = (await generateDialKey()).key;
  const requests = [
    new Request(URL_OF, { headers: { host: GATEWAY } }),
    new Request(URL_OF, { headers: { host: GATEWAY, authorization: "Fleetctl-Host a b c" } }),
    await stated(other),
    await stated(key, { host: "atlas" }),
    await stated(key, { atMs: NOW - 61_000 }),
    await stated(key, { atMs: NOW + 61_000 }),
    await stated(key, { gateway: "other:8735" }),
  ];
  const texts = new Set<string>();
  for (const request of requests) {
    const answer = await ask(request);
    assert.equal(answer.status, 403);
    texts.add(await answer.text());
  }
  assert.equal(texts.size, 1);
  const browser = await ask(await stated(key, { headers: { "sec-fetch-site": "none" } }));
  assert.equal(browser.status, 404);
  const posted = new Request(await stated(key), { method: "POST" });
  assert.equal((await ask(posted)).status, 404);
});

Deno.test("status sends its host's name, and distinguishes a refusal from no answer", async () => {
  const { stored, ask } = await scene();
  const paths = pathsUnder("/");
  const from = async (hostname: string, http: (request: Request) => Promise<Response>) => {
    const ports = {
      ...memoryHost({ now: NOW, files: { [paths.hostDialKey]: stored }, http }),
      hostname: hostname as HostName,
    };
    return await askElsewhere({ ports, paths } as unknown as VerbContext, `ws://${GATEWAY}`);
  };
  // An HTTP client sets `Host` itself.
  const record = (request: Request) => {
    const headers = new Headers(request.headers);
    headers.set("host", GATEWAY);
    return ask(new Request(request, { headers }));
  };
  assert.deepEqual(await from("boreas", record), { kind: "told", connected: new Set(["ada"]) });
  const refused = await from("elsewhere", record);
  assert.ok(refused?.kind === "silent" && refused.refusedKey !== undefined);
  const endless = await from("boreas", async () => {
    const chunk = new TextEncoder().encode(" ".repeat(1024 * 1024));
    return new Response(
      new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }),
    );
  });
  assert.ok(endless?.kind === "silent");
  assert.match(endless.fault, /another form/);
  const older = await from("boreas", async () => new Response("not found\n", { status: 404 }));
  assert.ok(older?.kind === "silent" && older.refusedKey === undefined);
  assert.match(older.fault, /answered 404/);
});
