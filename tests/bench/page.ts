/**
 * The page in Chromium: the time until it is usable on a processor that is four times slower, and
 * the time until an event is on the screen. Peers in the same run: the same transcript as plain
 * HTML with the same style and no script, and a bare page that appends the data of an
 * `EventSource`. `./dev bench page`
 *
 * @module
 */

import type { Browser, Page } from "playwright-core";
import { printTable } from "tests/bench/measure.ts";
import { startBrowser } from "tests/support/browser.ts";
import { type BareClient, registerBare } from "tests/support/gateway_fixture.ts";
import { startGatewayProcess } from "tests/support/gateway_process.ts";
import { buildPage, BUILT, startIdentityProxy } from "tests/support/page_scene.ts";

const STARTS = 20;
const EVENTS = 300;
const TURNS = 30;
const SLOW_DOWN = 4;

/** Reports when a user can type, and when the transcript is drawn too. */
const WATCH_START = `globalThis.seen = new Promise((done) => {
  let typing;
  const look = () => {
    if (document.getElementById("composer") !== null) typing ??= performance.now();
    const isDrawn = document.querySelectorAll(".prose").length >= ${TURNS};
    if (isDrawn && typing !== undefined) done([typing, performance.now()]);
    else requestAnimationFrame(look);
  };
  look();
})`;
/** Records when a text is part of the next drawn frame. */
const WATCH_EVENTS = `(() => {
  globalThis.shownAt = {};
  new MutationObserver(() => {
    const found = document.body.innerText.match(/mark-\\d+/g) ?? [];
    const last = found.at(-1);
    if (last === undefined || shownAt[last] !== undefined) return;
    requestAnimationFrame(() => shownAt[last] ??= performance.timeOrigin + performance.now());
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
})()`;
const BARE_STREAM = `<!doctype html><title>bare</title><ol id="list"></ol><script>
  const source = new EventSource("/events?topics=transcript:mia");
  source.addEventListener("notice", ({ data }) => {
    const line = document.createElement("li");
    line.textContent = JSON.parse(data).payload.text;
    document.getElementById("list").append(line);
  });
</script>`;

class Agent {
  #seq = 0;
  readonly #client: BareClient;
  constructor(client: BareClient) {
    this.#client = client;
  }

  send(kind: string, payload: unknown, turn_id?: string): void {
    const event = { seq: ++this.#seq, at: Date.now(), kind, payload, turn_id };
    this.#client.send({ type: "event", event });
  }

  async settle(): Promise<void> {
    while (Number((await this.#client.next("ack")).seq) < this.#seq);
  }
}

/**
 * Returns the milliseconds from navigation until a user can type, and until the transcript is
 * drawn.
 */
async function timeStart(browser: Browser, address: string): Promise<readonly number[]> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOW_DOWN });
  await page.addInitScript(WATCH_START);
  await page.goto(address);
  const took = await page.evaluate("seen") as readonly number[];
  await context.close();
  return took;
}

/**
 * Returns the main thread's processor time until the transcript is drawn, in milliseconds,
 * unthrottled.
 */
async function cpuOfStart(browser: Browser, address: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.addInitScript(WATCH_START);
  await page.goto(address);
  await page.evaluate("seen");
  const { metrics } = await devtools.send("Performance.getMetrics");
  await context.close();
  return (metrics.find(({ name }) => name === "ThreadTime")?.value ?? NaN) * 1000;
}

async function openWatched(browser: Browser, address: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(address);
  await page.waitForTimeout(500);
  await page.evaluate(WATCH_EVENTS);
  return page;
}

async function benchStart(browser: Browser, url: string, pages: Map<string, string>) {
  const first = await (await browser.newContext()).newPage();
  await first.goto(url);
  await first.locator(".prose").nth(TURNS - 1).waitFor();
  const markup = await first.content();
  await first.context().close();
  pages.set("/plain.html", markup.replace(/<script[^>]*>[^]*?<\/script>/g, ""));
  const subjects = [["/plain.html", "plain HTML, no script"], ["", "the page"]] as const;
  const typing = new Map<string, number[]>(subjects.map(([, name]) => [name, []]));
  const drawn = new Map<string, number[]>(subjects.map(([, name]) => [name, []]));
  const cpu = new Map<string, number[]>(subjects.map(([, name]) => [name, []]));
  for (let round = -1; round < STARTS; round++) {
    for (const [path, name] of subjects) {
      const [first = NaN, second = NaN] = await timeStart(browser, `${url}${path}`);
      const spent = await cpuOfStart(browser, `${url}${path}`);
      if (round < 0) continue;
      cpu.get(name)?.push(spent);
      typing.get(name)?.push(first);
      drawn.get(name)?.push(second);
    }
  }
  console.log(
    `one can type, from the navigation on, at ${SLOW_DOWN} × CPU slow-down, cold cache\n`,
  );
  printTable(typing);
  console.log(`\n${TURNS} answers are drawn, the same\n`);
  printTable(drawn);
  console.log("\nprocessor time of the main thread for it, not slowed down\n");
  printTable(cpu);
}

async function benchEvents(browser: Browser, url: string, agent: Agent) {
  const bare = await openWatched(browser, `${url}/bare.html`);
  const page = await openWatched(browser, url);
  const sent: number[] = [];
  for (let index = 0; index < EVENTS; index++) {
    sent.push(performance.timeOrigin + performance.now());
    agent.send("notice", { text: `mark-${index}` });
    await agent.settle();
    const shown = `new Promise((done) => {
      const look = () => shownAt["mark-${index}"] === undefined ? setTimeout(look, 5) : done(1);
      look();
    })`;
    await Promise.all([bare.evaluate(shown), page.evaluate(shown)]);
  }
  const times = new Map<string, number[]>();
  for (
    const [name, one] of [["a bare page on the same stream", bare], ["the page", page]] as const
  ) {
    const shown = await one.evaluate("shownAt") as Record<string, number>;
    times.set(name, sent.map((at, index) => (shown[`mark-${index}`] ?? NaN) - at));
  }
  console.log("\non the screen, after the agent sent it (stored by the gateway in between)\n");
  printTable(times);
}

/** Measures both and prints the results. */
export async function benchPage(): Promise<void> {
  await buildPage();
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  await Deno.mkdir(`${root}/usr/lib/fleetctl`, { recursive: true });
  await new Deno.Command("cp", { args: ["-R", BUILT, `${root}/usr/lib/fleetctl/web`] }).output();
  const gateway = await startGatewayProcess(root);
  const pages = new Map([["/bare.html", BARE_STREAM]]);
  const proxy = startIdentityProxy(gateway.cockpit, {
    prove: () => Promise.resolve({ "x-user-email": "mia@example.org" }),
    pages,
  });
  const url = `http://localhost:${proxy.port}`;
  const browser = await startBrowser();
  const client = await registerBare(gateway.dial, { epoch: "e1" });
  try {
    const agent = new Agent(client);
    for (let turn = 0; turn < TURNS; turn++) {
      const text = `Answer ${turn}: **bold**, \`code\`, and a list:\n\n- one\n- two\n\n`.repeat(3);
      agent.send("message", { message_id: `m${turn}`, role: "assistant", text }, `t${turn}`);
    }
    await agent.settle();
    await benchStart(browser, url, pages);
    await benchEvents(browser, url, agent);
  } finally {
    client.connection.close(1000, "over");
    await browser.close();
    await proxy.close();
    await gateway.kill();
    await Deno.remove(root, { recursive: true });
  }
}
