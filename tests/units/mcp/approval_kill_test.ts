/**
 * `kill -9` of any part while an approval is pending, at a random moment around the decision. The
 * call is made exactly once or not at all, as decided. `FLEETCTL_ROUNDS` sets the number of rounds.
 *
 * @module
 */

import assert from "node:assert/strict";
import { listApprovals, sendDecision } from "core/dial/ask_human.ts";
import { systemClock } from "core/os/clock.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { seededRandom } from "tests/fakes/random.ts";
import type { ShownApproval } from "tests/support/approval_scene.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 16);
const PARTS = ["proxy", "dial", "gateway", "server"] as const;
type Part = typeof PARTS[number];
const GATE = { mcp: "bench", version: "1.0.0", rules: { write: "ask" } };
const WAIT_MS = 60_000;

interface Running {
  readonly process: Deno.ChildProcess;
  /** Lines of stdout. */
  readonly lines: AsyncGenerator<string>;
}

/** The four parts under one root. */
class Parts {
  readonly root: string;
  readonly ports: readonly [cockpit: number, dial: number];
  readonly #running = new Map<Part, Running>();

  constructor(root: string, ports: readonly [number, number]) {
    this.root = root;
    this.ports = ports;
  }

  get socket(): string {
    return `${this.root}/home/mia/.fleetctl/dial/local.sock`;
  }

  of(part: Part): Running {
    const running = this.#running.get(part);
    assert.ok(running, part);
    return running;
  }

  async start(part: Part): Promise<void> {
    const [cockpit, dial] = this.ports;
    const args = {
      proxy: ["units/mcp/main.ts", "proxy", "bench", "--socket", `${this.root}/bench.sock`],
      dial: ["tests/support/approval_child.ts", "dial", this.root, `ws://127.0.0.1:${dial}`],
      gateway: ["tests/support/approval_child.ts", "gateway", this.root, `${cockpit}`, `${dial}`],
      server: ["tests/support/approval_child.ts", "server", `${this.root}/bench.sock`, this.log],
    }[part];
    const process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "-A", "--no-check", ...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
      env: { HOME: `${this.root}/home/mia`, FLEETCTL_ROOT: this.root, FLEETCTL_AGENT: "mia" },
    }).spawn();
    const running = { process, lines: linesOf(process.stdout) };
    this.#running.set(part, running);
    if (part !== "proxy") assert.equal((await running.lines.next()).value, "ready");
  }

  async kill(part: Part): Promise<void> {
    const running = this.#running.get(part);
    if (running === undefined) return;
    this.#running.delete(part);
    running.process.kill("SIGKILL");
    await running.process.status;
    await running.process.stdin.abort().catch(() => {/* it went with the process */});
    await running.lines.return(undefined);
  }

  get log(): string {
    return `${this.root}/executed.log`;
  }

  async executions(n: number): Promise<number> {
    const text = await Deno.readTextFile(this.log).catch(() => "");
    return text.split("\n").filter((line) => line === `${n}`).length;
  }
}

async function* linesOf(readable: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Polls until there is a value, because the other side is another process. */
async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  while (performance.now() < deadline) {
    const found = await look().catch(() => undefined);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`no ${what} in ${WAIT_MS / 1000} s`);
}

async function shownInPage(parts: Parts, n: number): Promise<ShownApproval> {
  return await until("approval in the page", async () => {
    const response = await fetch(
      `http://127.0.0.1:${parts.ports[0]}/api/approvals?agent=mia`,
      { headers: { "x-user-email": "mia@example.org" } },
    );
    const { approvals } = await response.json() as { approvals: readonly ShownApproval[] };
    return approvals.find((each) => each.arguments.n === n && each.state === "asked");
  });
}

/** Decides; the surface's answer does not matter, only whether the call is made. */
async function decide(
  parts: Parts,
  shown: ShownApproval,
  of: { readonly surface: "page" | "cli"; readonly decision: "approved" | "denied" },
): Promise<void> {
  const { approval_id: id, digest } = shown;
  const { decision } = of;
  if (of.surface === "cli") {
    const at = { socket: parts.socket, connect: connectUnix, clock: systemClock() };
    return void await sendDecision(at, { id, digest, decision, by: "the operator" });
  }
  const response = await fetch(`http://127.0.0.1:${parts.ports[0]}/api/approvals/decide`, {
    method: "POST",
    headers: { "x-user-email": "mia@example.org", "content-type": "application/json" },
    body: JSON.stringify({ agent: "mia", approval_id: id, digest, decision }),
  }).catch(() => undefined);
  await response?.body?.cancel().catch(() => {/* the gateway is gone */});
}

interface Round {
  readonly n: number;
  readonly victim: Part;
  readonly surface: "page" | "cli";
  readonly decision: "approved" | "denied";
  readonly killMs: number;
}

async function playRound(parts: Parts, round: Round): Promise<void> {
  const { n, victim, decision } = round;
  const { process, lines } = parts.of("proxy");
  const request = { jsonrpc: "2.0", id: n, method: "tools/call" };
  const writer = process.stdin.getWriter();
  await writer.write(
    new TextEncoder().encode(
      `${JSON.stringify({ ...request, params: { name: "write", arguments: { n } } })}\n`,
    ),
  );
  writer.releaseLock();
  const shown = await shownInPage(parts, n);
  const answer = lines.next().catch(() => ({ value: undefined }));
  const deciding = decide(parts, shown, round);
  await new Promise((resolve) => setTimeout(resolve, round.killMs));
  await parts.kill(victim);
  await deciding;
  await parts.start(victim);
  // A killed gateway may have sent no answer. Repeating the decision is safe, because it counts
  // once.
  if (victim === "gateway") await decide(parts, shown, { ...round, surface: "cli" });
  const state = await until("end of the approval", async () => {
    const at = { socket: parts.socket, connect: connectUnix, clock: systemClock() };
    const listed = await listApprovals(at);
    const found = listed.ok ? listed.value.find(({ id }) => id === shown.approval_id) : undefined;
    const isOver = found !== undefined && found.state !== "asked" && found.state !== "decided" &&
      !(found.state === "delivered" && found.decision === "approved");
    return isOver ? found.state : undefined;
  });
  const answered = victim === "proxy" ? undefined : (await answer).value as string | undefined;
  const count = await parts.executions(n);
  const told = JSON.stringify({ ...round, state, said: answered, count });
  assert.ok(count <= 1, `made twice: ${told}`);
  if (decision === "denied") assert.equal(count, 0, `made although denied: ${told}`);
  if (state !== "applied") assert.equal(count, 0, `made without its approval: ${told}`);
  if (answered?.includes('"done"')) assert.equal(count, 1, `said to be made: ${told}`);
  if (decision === "approved" && victim === "gateway") {
    assert.deepEqual([state, count], ["applied", 1], `approved and not made: ${told}`);
  }
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

Deno.test(`${ROUNDS} kills around a decision: made once or not at all, as decided`, async () => {
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  await Deno.mkdir(`${root}/etc/fleetctl/gate`, { recursive: true });
  await Deno.writeTextFile(`${root}/etc/fleetctl/gate/bench.json`, JSON.stringify(GATE));
  const parts = new Parts(root, [freePort(), freePort()]);
  const random = seededRandom(7);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.fraction() * of.length)]!;
  try {
    for (const part of ["server", "gateway", "dial", "proxy"] as const) await parts.start(part);
    const denied: number[] = [];
    for (let n = 1; n <= ROUNDS; n++) {
      const decision = pick(["approved", "approved", "denied"] as const);
      if (decision === "denied") denied.push(n);
      await playRound(parts, {
        n,
        victim: PARTS[n % PARTS.length]!,
        surface: pick(["page", "cli"] as const),
        decision,
        killMs: pick([0, 0, 1, 2, 4, 8, 16, 32]),
      });
    }
    // Check again at the end: no late call may follow either.
    const made = (await Deno.readTextFile(parts.log)).split("\n").filter((line) => line !== "");
    assert.equal(new Set(made).size, made.length, "a call was made twice");
    assert.deepEqual(denied.filter((n) => made.includes(`${n}`)), []);
    assert.ok(ROUNDS < 8 || made.length > 0, "no call was made at all");
  } finally {
    for (const part of PARTS) await parts.kill(part);
    await Deno.remove(root, { recursive: true });
  }
});
