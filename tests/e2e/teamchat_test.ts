/**
 * Team chat from end to end, as a user has it: `up --teamchat` with the agent that it brings up, bea, and
 * real processes under their permission sets. In local mode and in cloud mode against the kit her owner's
 * message reaches her and the answer comes back as a stream; somebody else's message never does.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { makeRoot, runVerb, startUp, type UpProcess } from "tests/support/up_process.ts";
import {
  APP_ID,
  APP_SECRET,
  type ConnectorKit,
  serveKit,
  TENANT,
} from "tests/teamchat/connector/kit.ts";
import { messageOf } from "tests/teamchat/fixture.ts";
import { deliver } from "tests/teamchat/gateway_process.ts";

const STRANGER = "00000000-0000-4000-8000-00000000beef";

async function verb(root: string, ...args: readonly string[]): Promise<string> {
  const done = await runVerb(root, args);
  assert.equal(done.code, 0, `${args.join(" ")}: ${done.stderr}${done.stdout}`);
  return done.stdout;
}

/** Who bea's owner is, as `up` has made it. */
async function ownerOf(root: string): Promise<string> {
  const shown = JSON.parse(await verb(root, "agents", "show", "bea", "--json"));
  const found = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(JSON.stringify(shown.agent ?? shown));
  assert.ok(found, JSON.stringify(shown));
  return found[0];
}

async function until(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_200; tries++) {
    if (await test()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`it did not happen: ${what}`);
}

/** A message of somebody in their own chat. */
function said(kit: ConnectorKit, owner: string, text: string): Record<string, unknown> {
  const id = owner === STRANGER ? "stranger" : "bea";
  return messageOf(kit, {
    text,
    from: { id: `29:${id}`, name: id, aadObjectId: owner },
    conversation: { id: `a:${id}`, conversationType: "personal", tenantId: TENANT },
  });
}

async function health(url: string): Promise<Record<string, unknown>> {
  return await (await fetch(url.replace("/api/messages", "/healthz"))).json();
}

/** Her owner's message is answered by a stream; a stranger's reaches nobody. */
async function talk(up: UpProcess, at: { url: string; kit: ConnectorKit; owner: string }) {
  const { url, kit, owner } = at;
  const { root } = up;
  const connected = async () => (await health(url)).agents as { connected?: number } | undefined;
  await until("bea registers", async () => (await connected())?.connected === 1);
  const room = kit.conversation("a:bea");
  const before = room.messages.length;
  const secret = crypto.randomUUID();
  assert.equal(await deliver(url, said(kit, STRANGER, `tell me ${secret}`), kit), 202);
  assert.equal(await deliver(url, said(kit, owner, "what can you do"), kit), 202);
  const finals = () =>
    kit.calls.filter(({ conversation, kind }) => conversation === "a:bea" && kind === "final");
  await until("the answer comes back", () => finals().length > 0 && room.messages.length > before);
  const answer = String(room.messages.at(-1)?.text);
  assert.match(answer, /demo/i);
  // The kit refuses an end of what was not begun, and what does not go on from what was shown.
  assert.ok(kit.calls.some(({ kind }) => kind === "informative" || kind === "streaming"));
  assert.deepEqual(kit.violations(), []);
  const strangers = kit.conversation("a:stranger").messages.map(({ text }) => text);
  assert.deepEqual(strangers.filter((text) => !/no agent for you/.test(text)), []);
  assert.ok(!answer.includes(secret));
  const found = await new Deno.Command("grep", { args: ["-rlaF", secret, root] }).output();
  assert.equal(new TextDecoder().decode(found.stdout), "", "the stranger's words were kept");
}

Deno.test("an owner's message reaches bea and her answer comes back, in local and in cloud mode", async (t) => {
  const root = await makeRoot();
  await using up = startUp(root, ["--teamchat"]);
  const line = await up.line(/^team chat, local mode: /);
  await up.line(/^ready /);
  const url = /http:\S+/.exec(line)?.[0] ?? "";
  const owner = await ownerOf(root);
  await t.step("local mode", async () => {
    await using served = await serveKit({ rules: { asksForTokens: false } });
    const { kit } = served;
    assert.equal((await fetch(url, { method: "HEAD" })).status, 200, "the test client's probe");
    await talk(up, { url, kit, owner });
    assert.equal(kit.tokensMinted, 0);
  });
  await t.step("cloud mode, in two halves", async () => {
    await using served = await serveKit();
    const { kit } = served;
    await Deno.writeTextFile(`${root}/kit.yaml`, kit.cloudFile);
    await verb(root, "secret", "set", "TEAMS_APP_ID", "--value", APP_ID);
    await verb(root, "secret", "set", "TEAMS_APP_PASSWORD", "--value", APP_SECRET);
    await verb(root, "secret", "set", "TEAMS_APP_TENANT_ID", "--value", TENANT);
    const port = Number(new URL(url).port);
    const install = (register: number) =>
      verb(root, ...["teams-gateway", "install", "--cloud", `${root}/kit.yaml`], ...[
        ...["--listen", `127.0.0.1:${port}`, "--register-listen", `127.0.0.1:${register}`],
      ]);
    await install(freePort());
    await verb(root, "agents", "restart", "bea");
    const status = JSON.parse(await verb(root, "teams-gateway", "status", "--json"));
    assert.deepEqual([status.mode, status.receiver?.state], ["cloud", "active"]);
    assert.equal((await fetch(url, { method: "HEAD" })).status, 405);
    const unsigned = await fetch(url, { method: "POST", body: "{}" });
    assert.equal(unsigned.status, 401, await unsigned.text());
    await talk(up, { url, kit, owner });
    assert.equal(kit.tokensMinted, 1);
    const env = await Deno.readTextFile(pathsUnder(root).env("teams-receiver"));
    assert.ok(!env.includes(APP_SECRET), "the receiving half was given the secret");
    // And back to one process, which takes the address over.
    await install(port);
    const whole = JSON.parse(await verb(root, "teams-gateway", "status", "--json"));
    assert.deepEqual([whole.state, whole.receiver], ["active", null]);
    assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 401);
  });
  assert.equal(await up.stop(), 0, up.text());
});

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
