/**
 * A gateway process is killed at any moment while a person writes in the page and an agent answers.
 * The agent gets each message once, and the page shows each message and each answer once, in order.
 * 8 rounds; FLEETCTL_ROUNDS overrides the number.
 *
 * @module
 */

import assert from "node:assert/strict";
import { untilCount, untilTexts } from "tests/support/page_waits.ts";
import { openPage, startBrowser } from "tests/support/browser.ts";
import { startChaosProxy } from "tests/support/chaos_proxy.ts";
import { type BareClient, registerBare } from "tests/support/gateway_fixture.ts";
import { type GatewayProcess, startGatewayProcess } from "tests/support/gateway_process.ts";
import { buildPage, BUILT, startIdentityProxy } from "tests/support/page_scene.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "8");

/** An agent with an outbox: it keeps each event until the gateway has acknowledged it. */
class Agent {
  readonly taken: string[] = [];
  readonly #turns = new Set<string>();
  readonly #events: Record<string, unknown>[] = [];
  #client: BareClient | undefined;

  /** Connects to a gateway and resends what it has not acknowledged. */
  async connect(dial: string): Promise<void> {
    const last_seq = this.#events.length;
    this.#client = await registerBare(dial, { epoch: "e1", last_seq });
    const answer = this.#client.frames.find(({ type }) => type === "registered");
    for (const event of this.#events.slice(Number(answer?.acked_seq))) this.#send(event);
  }

  #send(event: unknown): void {
    this.#client?.send({ type: "event", event });
  }

  #emit(kind: string, turn_id: string, payload: unknown): void {
    const event = { seq: this.#events.length + 1, at: Date.now(), kind, turn_id, payload };
    this.#events.push(event);
    this.#send(event);
  }

  /** Answers the next turn, unless the connection ends first. */
  async answer(): Promise<boolean> {
    const client = this.#client;
    if (client === undefined) return false;
    const gone = client.closed.then(() => undefined);
    const frame = await Promise.race([client.next("turn"), gone]);
    if (frame === undefined) return false;
    const turnId = String(frame.turn_id);
    client.send({ type: "turn_accepted", turn_id: turnId });
    // A turn that is delivered again was already run.
    if (this.#turns.has(turnId)) return false;
    this.#turns.add(turnId);
    this.taken.push(String(frame.text));
    this.#emit("turn_started", turnId, {});
    const message_id = crypto.randomUUID();
    const text = `answer to ${frame.text}`;
    this.#emit("message", turnId, { message_id, role: "assistant", text });
    this.#emit("turn_ended", turnId, { outcome: "completed" });
    return true;
  }
}

Deno.test({
  name: `a gateway killed at ${ROUNDS} moments loses and duplicates nothing of a page or an agent`,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await buildPage();
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    await Deno.mkdir(`${root}/usr/lib/fleetctl`, { recursive: true });
    await new Deno.Command("cp", { args: ["-R", BUILT, `${root}/usr/lib/fleetctl/web`] }).output();
    let gateway: GatewayProcess = await startGatewayProcess(root);
    const portOf = (address: string) => Number(new URL(address).port);
    const link = startChaosProxy(portOf(gateway.cockpit));
    const proxy = startIdentityProxy(`http://127.0.0.1:${link.port}`, {
      prove: () => Promise.resolve({ "x-user-email": "mia@example.org" }),
    });
    const browser = await startBrowser();
    try {
      await using watched = await openPage(browser, { isTimeReal: true });
      const { page } = watched;
      const agent = new Agent();
      await agent.connect(gateway.dial);
      await page.goto(`http://localhost:${proxy.port}`);
      const composer = page.getByLabel("Message to mia");
      await composer.waitFor();
      const written: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const text = `message ${round}.`;
        written.push(text);
        await composer.fill(text);
        await composer.press("Enter");
        const answering = agent.answer();
        // The delays cover every stage: stored, sent, delivered, answered.
        await page.evaluate(`new Promise((done) => setTimeout(done, ${(round * 13) % 120}))`);
        await gateway.kill();
        link.cut();
        const wasTaken = await answering;
        gateway = await startGatewayProcess(root);
        link.retarget(portOf(gateway.cockpit));
        await agent.connect(gateway.dial);
        // Skip the longer delays of the back-off.
        await page.evaluate("dispatchEvent(new Event('online'))");
        if (!wasTaken) { while (agent.taken.length < written.length) await agent.answer(); }
        await page.locator(".prose", { hasText: `answer to ${text}` }).waitFor({ timeout: 60_000 });
      }
      assert.deepEqual(agent.taken, written);
      await untilTexts(page.locator(".ask-text"), written);
      await untilTexts(page.locator(".prose"), written.map((text) => `answer to ${text}`));
      await untilCount(page.locator(".queue-row"), 0);
      assert.deepEqual(watched.faults, []);
    } finally {
      await browser.close();
      await proxy.close();
      await link.close();
      await gateway.kill();
      await Deno.remove(root, { recursive: true });
    }
  },
});
