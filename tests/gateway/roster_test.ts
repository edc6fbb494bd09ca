/**
 * A roster that changes while the gateway runs: who gains and loses which right, and what of the
 * rest continues.
 *
 * @module
 */

import assert from "node:assert/strict";
import { rosterOf } from "core/access/viewer.ts";
import { withRosterFile } from "core/access/roster_file.ts";
import { CLOSE } from "core/dial/frames.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { AgentName, Email } from "core/names.ts";
import { rosterChange } from "gateway/live_roster.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import { openSse } from "tests/gateway/cockpit/sse_reader.ts";
import {
  connectBare,
  LEDGER,
  registerBare,
  startTestGateway,
  type TestGateway,
} from "tests/support/gateway_fixture.ts";

const FILE = "/r/etc/fleetctl/webview-ledger.json";
const DENIED = { code: CLOSE.policyViolation, reason: "not authorized" };
const ADA = { "x-user-email": "ada@example.org" };

interface Names {
  readonly ledger?: Readonly<Record<string, string>>;
  readonly admins?: readonly string[];
}

interface LiveGateway extends TestGateway {
  /** Writes the file as `apply` does. */
  write(roster: Names | string): Promise<void>;
  /** Writes the file and waits for a check. */
  change(roster: Names | string): Promise<void>;
}

function textOf(roster: Names | string): string {
  return typeof roster === "string"
    ? roster
    : JSON.stringify({ ledger: LEDGER, admins: ["ada"], ...roster });
}

function rosterTest(name: string, fn: (running: LiveGateway) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const host: MemoryHost = memoryHost();
      await host.files.ensureDir("/r/etc/fleetctl");
      await host.files.write(FILE, textOf({}));
      const env = { WEBVIEW_LEDGER: FILE, WEBVIEW_ADMINS: FILE };
      const given = await withRosterFile(env, host.files) as Record<string, string>;
      await using running = await startTestGateway({ host, env: given, rosterFile: FILE });
      const write = (roster: Names | string) => host.files.write(FILE, textOf(roster));
      await fn({
        ...running,
        write,
        change: async (roster) => {
          await write(roster);
          await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
        },
      });
    },
  });
}

const { "mia@example.org": _mia, ...WITHOUT_MIA } = LEDGER;

async function agentsOf(running: TestGateway, email: string): Promise<readonly string[] | number> {
  const response = await fetch(`${running.cockpitUrl}/api/agents`, {
    headers: { "x-user-email": email },
  });
  const body = await response.json() as { readonly agents?: readonly { readonly agent: string }[] };
  return body.agents?.map(({ agent }) => agent) ?? response.status;
}

rosterTest("a new agent can register, and its owner sees it, before the next check", async (on) => {
  const { write, dialUrl } = on;
  await write({ ledger: { ...LEDGER, "cleo@example.org": "cleo" } });
  await registerBare(dialUrl, { user_email: "cleo@example.org", agent: "cleo" });
  assert.deepEqual(await agentsOf(on, "cleo@example.org"), ["cleo"]);
  assert.deepEqual(await agentsOf(on, "eve@example.org"), 403);
});

rosterTest("a removed agent loses its connection and its owner's streams", async (on) => {
  const { dialUrl, change } = on;
  const [mia, bob] = [
    await registerBare(dialUrl),
    await registerBare(dialUrl, { user_email: "bob@example.org", agent: "bob" }),
  ];
  const miasPage = await openSse(on, "/events?topics=agents,transcript:mia");
  const bobsPage = await openSse(on, "/events?topics=agents,transcript:bob", {
    "x-user-email": "bob@example.org",
  });
  await change({ ledger: WITHOUT_MIA });
  assert.deepEqual(await mia.closed, DENIED);
  assert.deepEqual((await miasPage.until("closing")).data, {
    reason: "the viewer's rights changed",
    retry: "now",
  });
  assert.equal(await miasPage.next(), undefined);
  assert.deepEqual(await agentsOf(on, "mia@example.org"), 403);
  const again = await connectBare(dialUrl);
  again.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
  assert.deepEqual(await again.closed, DENIED);
  // The other agent and its page go on.
  bob.send({ type: "event", event: { seq: 1, at: 1, kind: "notice", payload: { text: "n" } } });
  assert.equal((await bobsPage.until("notice")).data.payload.text, "n");
  await bobsPage.cancel();
});

rosterTest("an agent that gets another owner is cut off from its former one", async (on) => {
  const { dialUrl, change } = on;
  const mia = await registerBare(dialUrl);
  const page = await openSse(on, "/events?topics=agents,transcript:mia");
  await change({ ledger: { ...WITHOUT_MIA, "eve@example.org": "mia" } });
  assert.deepEqual(await mia.closed, DENIED);
  await page.until("closing");
  assert.equal(await page.next(), undefined);
  await registerBare(dialUrl, { user_email: "eve@example.org", agent: "mia" });
  assert.deepEqual(await agentsOf(on, "eve@example.org"), ["mia"]);
  assert.deepEqual(await agentsOf(on, "mia@example.org"), 403);
});

rosterTest("an admin's page shows added and removed agents on the open stream", async (on) => {
  const { change } = on;
  const page = await openSse(on, "/events?topics=agents", ADA);
  await page.until("agents");
  await change({ ledger: { ...LEDGER, "cleo@example.org": "cleo" } });
  assert.equal((await page.until("agent")).data.agent, "cleo");
  await change({});
  assert.deepEqual((await page.until("agent_removed")).data, { agent: "cleo" });
  await page.cancel();
});

rosterTest("another owner's page hears nothing of added and removed agents", async (on) => {
  const { change, dialUrl } = on;
  const page = await openSse(on, "/events?topics=agents");
  await page.until("agents");
  await change({ ledger: { ...LEDGER, "cleo@example.org": "cleo" } });
  await change({});
  await registerBare(dialUrl);
  const next = await page.next();
  assert.deepEqual([next?.event, next?.data.agent], ["agent", "mia"]);
  await page.cancel();
});

rosterTest(
  "streams are opened anew when the admin marker changes, in both directions",
  async (on) => {
    const { change } = on;
    const page = await openSse(on, "/events?topics=agents");
    assert.deepEqual((await page.until("hello")).data.viewer, { agent: "mia", is_admin: false });
    const admins = await openSse(on, "/events?topics=agents,hosts", ADA);
    await change({ admins: ["mia"] });
    assert.equal((await page.until("closing")).data.retry, "now");
    assert.equal((await admins.until("closing")).data.retry, "now");
    for (const ended of [page, admins]) assert.equal(await ended.next(), undefined);
    const again = await openSse(on, "/events?topics=agents,hosts");
    assert.deepEqual((await again.until("hello")).data.viewer, { agent: "mia", is_admin: true });
    assert.deepEqual(await agentsOf(on, "mia@example.org"), ["ada", "bob", "mia"]);
    const refused = await fetch(`${on.cockpitUrl}/events?topics=agents,hosts`, { headers: ADA });
    assert.equal(refused.status, 403);
    await refused.body?.cancel();
    await again.cancel();
  },
);

const DAMAGED = [
  ["no JSON", "{"],
  ["empty", ""],
  ["a list", "[]"],
  ["an old file without admins", JSON.stringify(LEDGER)],
  ["an agent's name is invalid", textOf({ ledger: { "a@b.c": "Bad Name" } })],
  ["admins are no list of names", textOf({ admins: ["Bad Name"] })],
  ["too long", `{"ledger":{},"admins":[]}${" ".repeat(8 * 1024 * 1024)}`],
] as const;
for (const [what, text] of DAMAGED) {
  rosterTest(`a damaged file (${what}) changes nothing, and metrics report it`, async (on) => {
    const { change, dialUrl, host } = on;
    const mia = await registerBare(dialUrl);
    await change(text);
    await change(text);
    assert.deepEqual(await agentsOf(on, "mia@example.org"), ["mia"]);
    assert.deepEqual(await agentsOf(on, "cleo@example.org"), 403);
    assert.equal(host.log.of("roster not read").length, 1);
    const metrics = await (await fetch(`${on.cockpitUrl}/metrics`)).text();
    assert.match(metrics, /^fleetctl_gateway_roster_damaged 1$/m);
    await change({ ledger: { "mia@example.org": "mia", "cleo@example.org": "cleo" } });
    assert.deepEqual(await agentsOf(on, "cleo@example.org"), ["cleo"]);
    mia.connection.terminate();
  });
}

rosterTest("a deleted file changes nothing", async (on) => {
  await on.host.files.remove(FILE);
  await on.host.clock.advance(DIAL_LIMITS.keyFilePollMs);
  assert.deepEqual(await agentsOf(on, "mia@example.org"), ["mia"]);
});

rosterTest(
  "a request whose sender is removed before its body has arrived is refused",
  async (on) => {
    const { change } = on;
    let send = (_text: string) => {};
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        send = (text) => {
          controller.enqueue(new TextEncoder().encode(text));
          controller.close();
        };
        controller.enqueue(new TextEncoder().encode(" "));
      },
    });
    const answer = fetch(`${on.cockpitUrl}/api/turns`, {
      method: "POST",
      body,
      headers: {
        "x-user-email": "mia@example.org",
        "content-type": "application/json",
        "idempotency-key": "k",
      },
    });
    await agentsOf(on, "bob@example.org");
    await change({ ledger: WITHOUT_MIA });
    send(JSON.stringify({ agent: "mia", text: "late" }));
    assert.equal((await answer).status, 403);
    await (await answer).body?.cancel();
  },
);

Deno.test("rosterChange() names what changed, and nothing for equal rosters", () => {
  const roster = (ledger: Readonly<Record<string, string>>, admins: readonly string[] = []) =>
    rosterOf(
      new Map(Object.entries(ledger)) as unknown as ReadonlyMap<Email, AgentName>,
      admins as readonly AgentName[],
    );
  const before = roster({ "a@x.org": "ada", "b@x.org": "bea" }, ["ada"]);
  assert.equal(
    rosterChange(before, roster({ "b@x.org": "bea", "a@x.org": "ada" }, ["ada"])),
    undefined,
  );
  const change = rosterChange(before, roster({ "b@x.org": "ada", "c@x.org": "cal" }, ["ada"]));
  assert.deepEqual(
    { ...change, roster: undefined, former: [...change?.former ?? []] },
    {
      roster: undefined,
      former: ["a@x.org", "b@x.org"],
      hasAdminsChanged: false,
      added: ["cal"],
      removed: ["bea"],
    },
  );
  assert.equal(
    rosterChange(before, roster({ "a@x.org": "ada", "b@x.org": "bea" }))?.hasAdminsChanged,
    true,
  );
});
