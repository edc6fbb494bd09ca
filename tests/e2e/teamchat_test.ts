/**
 * Team chat from end to end, as users have it: `up --teamchat` with its own agent bea, and a second
 * agent, cal, added while it runs. Each has an owner, and real processes run under their permission
 * sets. In local mode and in cloud mode against the kit, each owner's message reaches their own
 * agent, and its answer returns as a stream. Messages of another owner or a stranger never do.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { processesOf } from "tests/support/processes_of.ts";
import { makeRoot, runVerb, startUp, type UpProcess } from "tests/support/up_process.ts";
import {
  APP_ID,
  APP_SECRET,
  type ConnectorKit,
  serveKit,
  TENANT,
} from "tests/teamchat/connector/kit.ts";
import { CAL_OWNER, messageOf } from "tests/teamchat/fixture.ts";
import { deliver } from "tests/teamchat/gateway_process.ts";

const STRANGER = "00000000-0000-4000-8000-00000000beef";

async function verb(root: string, ...args: readonly string[]): Promise<string> {
  const done = await runVerb(root, args);
  assert.equal(done.code, 0, `${args.join(" ")}: ${done.stderr}${done.stdout}`);
  return done.stdout;
}

/** Returns bea's owner, as `up` has created it. */
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

/** A person who writes to the bot. */
interface Person {
  readonly name: string;
  readonly owner: string;
}

/** Returns a message of a person in their own chat. */
function textMessage(
  kit: ConnectorKit,
  { name, owner }: Person,
  text: string,
): Record<string, unknown> {
  return messageOf(kit, {
    text,
    from: { id: `29:${name}`, name, aadObjectId: owner },
    conversation: { id: `a:${name}`, conversationType: "personal", tenantId: TENANT },
  });
}

/** Returns the files below a folder that contain a text. */
async function holding(text: string, folder: string): Promise<string> {
  const found = await new Deno.Command("grep", { args: ["-rlaF", text, folder] }).output();
  return new TextDecoder().decode(found.stdout).trim();
}

async function health(url: string): Promise<Record<string, unknown>> {
  return await (await fetch(url.replace("/api/messages", "/healthz"))).json();
}

/**
 * Each owner gets answers from their own agent, at the same time; a stranger's text reaches no
 * agent.
 */
async function talk(
  up: UpProcess,
  at: { readonly url: string; readonly kit: ConnectorKit; readonly owners: readonly Person[] },
) {
  const { url, kit, owners } = at;
  const { root } = up;
  const connected = async () => (await health(url)).agents as { connected?: number } | undefined;
  await until("both register", async () => (await connected())?.connected === owners.length);
  const secrets = new Map(owners.map(({ name }) => [name, crypto.randomUUID()]));
  const undelivered = crypto.randomUUID();
  const answersTo = ({ name }: Person) => kit.conversation(`a:${name}`).messages;
  const asking = owners.map((person) => {
    const text = `who are you? ${secrets.get(person.name)}`;
    return deliver(url, textMessage(kit, person, text), kit);
  });
  const stranger = { name: "stranger", owner: STRANGER };
  asking.push(deliver(url, textMessage(kit, stranger, `tell me ${undelivered}`), kit));
  assert.deepEqual(await Promise.all(asking), [202, 202, 202]);
  await until(
    "the answers come back",
    () => owners.every((person) => answersTo(person).some(({ text }) => /demo/i.test(text))),
  );
  for (const person of owners) {
    const { name } = person;
    const texts = answersTo(person).map(({ text }) => text).join("\n");
    for (const other of owners) {
      // The demo model explains how to set a real model for the agent, by the agent's name.
      const isOwn = other.name === name;
      const isNamed = new RegExp(`\\b${other.name}\\b`).test(texts);
      assert.equal(isNamed, isOwn, `${name} reads: ${texts}`);
      const kept = await holding(secrets.get(name) ?? "", `${root}/home/${other.name}`);
      assert.equal(kept !== "", isOwn, `words of ${name}'s owner with ${other.name}: "${kept}"`);
    }
    const kinds = kit.calls.filter(({ conversation }) => conversation === `a:${name}`)
      .map(({ kind }) => kind);
    // The kit refuses the end of a stream that never began, and text that does not continue what
    // was shown.
    assert.ok(kinds.includes("final"), kinds.join());
    assert.ok(kinds.includes("informative") || kinds.includes("streaming"), kinds.join());
  }
  assert.deepEqual(kit.violations(), []);
  const answers = answersTo(stranger).map(({ text }) => text);
  assert.deepEqual(answers.filter((text) => !/no agent for you/.test(text)), []);
  assert.equal(await holding(undelivered, root), "", "the stranger's words were kept");
}

/** Returns the gateway's processes, which a change of owners must not replace. */
async function gatewayProcess(root: string): Promise<readonly string[]> {
  return (await processesOf(root)).filter((line) => /teamchat\/main|fleetctl-teamchat /.test(line));
}

/** `up` with its gateway, and the two persons who write to it. */
interface Scene {
  readonly up: UpProcess;
  readonly root: string;
  /** Address of the gateway's messages. */
  readonly url: string;
  readonly bea: Person;
  readonly cal: Person;
}

/** Adds the second agent; the gateway uses it without a restart. */
async function addCal({ root, cal }: Scene): Promise<void> {
  const before = await gatewayProcess(root);
  await verb(
    root,
    "agents",
    "add",
    "cal",
    "--channel",
    "teamchat",
    "--owner-aad",
    cal.owner,
    "--user-email",
    "cal-owner@localhost",
  );
  assert.ok(before.length > 0);
  assert.deepEqual(await gatewayProcess(root), before);
}

async function talkLocally({ up, url, bea, cal }: Scene): Promise<void> {
  await using served = await serveKit({ rules: { asksForTokens: false } });
  const { kit } = served;
  assert.equal((await fetch(url, { method: "HEAD" })).status, 200, "the test client's probe");
  await talk(up, { url, kit, owners: [bea, cal] });
  assert.equal(kit.tokensMinted, 0);
}

/** Installs the gateway in cloud mode; agents register at `registerPort`. */
async function installCloud({ root, url }: Scene, registerPort: number): Promise<void> {
  await verb(
    root,
    "teams-gateway",
    "install",
    "--cloud",
    `${root}/kit.yaml`,
    "--listen",
    `127.0.0.1:${new URL(url).port}`,
    "--register-listen",
    `127.0.0.1:${registerPort}`,
  );
}

/** Changes to cloud mode with a receiver and a sender, and talks. */
async function talkWithReceiver(scene: Scene, kit: ConnectorKit): Promise<void> {
  const { up, root, url, bea, cal } = scene;
  await Deno.writeTextFile(`${root}/kit.yaml`, kit.cloudFile);
  await verb(root, "secret", "set", "TEAMS_APP_ID", "--value", APP_ID);
  await verb(root, "secret", "set", "TEAMS_APP_PASSWORD", "--value", APP_SECRET);
  await verb(root, "secret", "set", "TEAMS_APP_TENANT_ID", "--value", TENANT);
  await installCloud(scene, freePort());
  for (const { name } of [bea, cal]) await verb(root, "agents", "restart", name);
  const status = JSON.parse(await verb(root, "teams-gateway", "status", "--json"));
  assert.deepEqual([status.mode, status.receiver?.state], ["cloud", "active"]);
  assert.equal((await fetch(url, { method: "HEAD" })).status, 405);
  const unsigned = await fetch(url, { method: "POST", body: "{}" });
  assert.equal(unsigned.status, 401, await unsigned.text());
  await talk(up, { url, kit, owners: [bea, cal] });
  assert.equal(kit.tokensMinted, 1);
  const env = await Deno.readTextFile(pathsUnder(root).env("teams-receiver"));
  assert.ok(!env.includes(APP_SECRET), "the receiver was given the secret");
}

/** Removes the second agent: its owner is a stranger from the next message on. */
async function removeCal({ root, url, cal }: Scene, kit: ConnectorKit): Promise<void> {
  const before = await gatewayProcess(root);
  await verb(root, "agents", "remove", "cal", "--yes");
  // Within a quarter of a second both processes may still accept a message for cal.
  for (const unit of ["fleetctl-teamchat", "fleetctl-teamchat-receiver"]) {
    await until(`${unit} has the new owners`, async () => {
      const log = await Deno.readTextFile(`${pathsUnder(root).logs}/${unit}.service.log`);
      return log.includes('"event":"owners changed","owners":1,');
    });
  }
  const gone = crypto.randomUUID();
  assert.equal(await deliver(url, textMessage(kit, cal, gone), kit), 202);
  const room = kit.conversation("a:cal");
  await until(
    "cal's owner is told",
    () => /no agent for you/.test(room.messages.at(-1)?.text ?? ""),
  );
  assert.equal(await holding(gone, root), "");
  assert.deepEqual(await gatewayProcess(root), before);
}

/** Returns to one process, which takes over the address; refused while a message is pending. */
async function joinProcesses(scene: Scene, kit: ConnectorKit): Promise<void> {
  const { root, url, bea } = scene;
  const { port } = new URL(url);
  const [sender] = (await gatewayProcess(root)).filter((line) => !line.includes("receiver"));
  const senderPid = Number(sender?.split(" ")[0]);
  Deno.kill(senderPid, "SIGSTOP");
  const late = textMessage(kit, bea, "who are you, at the last moment?");
  assert.equal(await deliver(url, late, kit), 202);
  const joining = ["teams-gateway", "install", "--register-listen", `127.0.0.1:${port}`];
  const refused = await runVerb(root, joining);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /1 activities wait for the sender, must be none/);
  const read = kit.conversation("a:bea").messages.length;
  Deno.kill(senderPid, "SIGCONT");
  await until("it is answered", () => kit.conversation("a:bea").messages.length > read);
  await installCloud(scene, Number(port));
  const whole = JSON.parse(await verb(root, "teams-gateway", "status", "--json"));
  assert.deepEqual([whole.state, whole.receiver], ["active", null]);
  assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 401);
}

Deno.test("each owner's message reaches their own agent, in both modes", async (t) => {
  const root = await makeRoot();
  await using up = startUp(root, ["--teamchat"]);
  const line = await up.line(/^team chat, local mode: /);
  await up.line(/^ready /);
  const url = /http:\S+/.exec(line)?.[0] ?? "";
  const bea = { name: "bea", owner: await ownerOf(root) };
  const scene: Scene = { up, root, url, bea, cal: { name: "cal", owner: CAL_OWNER } };
  await t.step(
    "a second agent is added, and the gateway is not restarted",
    () => addCal(scene),
  );
  await t.step("local mode", () => talkLocally(scene));
  await t.step("cloud mode, with receiver and sender", async () => {
    await using served = await serveKit();
    const { kit } = served;
    await talkWithReceiver(scene, kit);
    await removeCal(scene, kit);
    await joinProcesses(scene, kit);
  });
  assert.equal(await up.stop(), 0, up.text());
});

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
