/**
 * `./dev bench login`: CPU time per request of the login proxy and of its peers, in turn, over one
 * upstream. Also latency at a steady pace, the first byte of a stream, and the effect of slow
 * connections and of a flood of passwords on other users. Load, upstream and proxy share the
 * machine. Each latency is therefore compared with that of the upstream alone in the same round.
 * The result is the median of these differences over all rounds.
 *
 * @module
 */

import { quantile } from "tests/bench/measure.ts";
import { measureFlood } from "tests/bench/login/flood.ts";
import { firstByte, type Round, runLoad, runPaced } from "tests/bench/login/load.ts";
import { freePort } from "tests/support/free_port.ts";
import {
  type Ground,
  installPeers,
  type Peer,
  signedIn,
  start,
  startApache,
  startCaddy,
  startExpress,
  startNginx,
} from "tests/bench/login/peers.ts";
import { CLIENT, createHostileProvider } from "tests/support/hostile_provider.ts";
import { TREE } from "tests/support/module_graph.ts";

const CONNECTIONS = 16;
const SECONDS = 2;
const ROUNDS = 5;
const PACE = 1_000;
const STREAMS = 300;
const SLOW = 10_000;
/** The argon2id hash, with 64 MiB, of a password that is never sent. */
const SLOW_HASH =
  "$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
const OTHER = { name: "bob@example.org", password: "a-password-of-the-bench" };
const UPSTREAM = `
const hello = new TextEncoder().encode("hello from the cockpit, a small answer of a usual kind");
Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen() {} }, (request) => {
  if (!request.url.endsWith("/events")) return new Response(hello);
  const first = new TextEncoder().encode("data: first\\n\\n");
  return new Response(new ReadableStream({ start: (made) => made.enqueue(first) }), {
    headers: { "content-type": "text/event-stream" },
  });
});
`;

/** Runs the bench. */
export async function benchLogin(): Promise<void> {
  await installPeers();
  const ends: (() => void)[] = [];
  const folder = await Deno.makeTempDir({ prefix: "login-bench-" });
  await Deno.chmod(folder, 0o755);
  try {
    const ground = await makeGround(folder, (end) => ends.push(end));
    const direct: Peer = {
      name: "direct: `Deno.serve` that answers by itself (the floor)",
      port: ground.upstream,
      pids: [ground.upstreamPid],
      headers: {},
    };
    const own = await startOwn(ground);
    const others = await startPeers(ground);
    await measureCpu([direct, own.exempt, own.session, ...others]);
    const beside = ["nginx, plain", "Apache with mod_auth_openidc"];
    const shown = others.filter(({ name }) => beside.includes(name));
    await measurePace([direct, ...shown, own.session]);
    await measureStream([direct, ...shown, own.session]);
    await measureSlow(own.session);
    const basic = await startBasic(ground);
    await measureFlood(targetOf(basic), { port: basic.port, folder, pace: PACE / 2 });
  } finally {
    for (const end of ends.reverse()) end();
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

async function makeGround(
  folder: string,
  onEnd: Ground["onEnd"],
): Promise<Ground & { readonly upstreamPid: number }> {
  const upstream = freePort();
  await Deno.writeTextFile(`${folder}/upstream.ts`, UPSTREAM);
  const upstreamPid = await start(
    Deno.execPath(),
    ["run", "-q", "--no-config", "--allow-net", `${folder}/upstream.ts`, String(upstream)],
    { port: upstream, ground: { folder, onEnd } },
  );
  const issuerPort = freePort();
  const issuer = `http://127.0.0.1:${issuerPort}`;
  const provider = await createHostileProvider(Date.now, {}, issuer);
  const account = { sub: "mia-1", email: "mia@example.org", email_verified: true };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: issuerPort, onListen: () => {} },
    (request) =>
      new URL(request.url).pathname === "/authorize"
        ? Response.redirect(provider.signIn(request.url, account), 302)
        : provider.http.fetch(request),
  );
  onEnd(() => void server.shutdown());
  return {
    folder,
    upstream,
    upstreamPid,
    issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    onEnd,
  };
}

/** Starts the login proxy from the tree, under a separate root, with further settings. */
async function startProxy(
  ground: Ground,
  root: string,
  settings: (port: number) => Readonly<Record<string, string>>,
): Promise<{ readonly port: number; readonly pid: number }> {
  const port = freePort();
  const pid = await start(
    Deno.execPath(),
    ["run", "-q", "-A", "--no-check", "--config", `${TREE}deno.json`, `${TREE}login/main.ts`],
    {
      port,
      ground,
      env: {
        FLEETCTL_ROOT: `${ground.folder}/${root}`,
        WEBVIEW_LOGIN_LISTEN: `127.0.0.1:${port}`,
        WEBVIEW_UPSTREAM: `http://127.0.0.1:${ground.upstream}`,
        WEBVIEW_HMAC_KEY: "a-key-of-the-bench-0000000000000",
        WEBVIEW_ASSERTION_KEY: "a-key-of-the-bench-1111111111111",
        ...settings(port),
      },
    },
  );
  return { port, pid };
}

/** Starts the login proxy, with the same sign-in provider as its peers. */
async function startOwn(ground: Ground): Promise<{ exempt: Peer; session: Peer }> {
  const { port, pid } = await startProxy(ground, "root", (port) => ({
    WEBVIEW_OIDC_ISSUER: ground.issuer,
    WEBVIEW_OIDC_CLIENT_ID: ground.clientId,
    WEBVIEW_OIDC_CLIENT_SECRET: ground.clientSecret,
    WEBVIEW_URL: `http://localhost:${port}`,
  }));
  const cookie = await signedIn(port);
  return {
    exempt: {
      name: "fleetctl-login, a path that needs no login",
      port,
      pids: [pid],
      headers: { "x-path": "/icons/a.png" },
    },
    session: { name: "fleetctl-login, a session", port, pids: [pid], headers: { cookie } },
  };
}

async function startPeers(ground: Ground): Promise<readonly Peer[]> {
  const peers: Peer[] = [];
  for (
    const make of [
      () => startNginx(ground, false),
      () => startNginx(ground, true),
      () => startApache(ground, false),
      () => startApache(ground, true),
      () => startCaddy(ground, false),
      () => startCaddy(ground, true),
      () => startExpress(ground),
    ]
  ) {
    try {
      peers.push(await make());
    } catch (thrown) {
      console.error(`left out: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
  }
  return peers;
}

function targetOf(peer: Peer) {
  const { "x-path": path = "/api/agents", ...headers } = peer.headers;
  const usual = { accept: "*/*", "user-agent": "bench", "accept-encoding": "gzip, br" };
  return { port: peer.port, path, headers: { ...usual, ...headers } };
}

async function measureCpu(peers: readonly Peer[]): Promise<void> {
  const rounds = new Map<string, Round[]>(peers.map(({ name }) => [name, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const peer of peers) {
      const done = await runLoad(targetOf(peer), {
        pids: peer.pids,
        connections: CONNECTIONS,
        seconds: round < 0 ? 1 : SECONDS,
      });
      if (round >= 0) rounds.get(peer.name)?.push(done);
    }
  }
  console.log("| subject | CPU µs per request, median | least | requests/s, median |");
  console.log("|---|---|---|---|");
  for (const [name, done] of rounds) {
    const cpu = done.map(({ cpuMicros, requests }) => cpuMicros / requests);
    const rate = done.map(({ requests, seconds }) => requests / seconds);
    console.log(
      `| ${name} | ${quantile(cpu, 0.5).toFixed(1)} | ${Math.min(...cpu).toFixed(1)} | ${
        quantile(rate, 0.5).toFixed(0)
      } |`,
    );
  }
}

/**
 * Prints quantiles over all rounds, and the median over rounds of the difference to the first
 * subject.
 */
function printAdded(
  title: string,
  rounds: ReadonlyMap<string, readonly (readonly number[])[]>,
): void {
  console.log(
    `\n| ${title} | median ms | p99 ms | added: median | added: p99 |\n|---|---|---|---|---|`,
  );
  const [base = []] = rounds.values();
  for (const [name, done] of rounds) {
    const of = (q: number) => quantile(done.map((round) => quantile(round, q)), 0.5);
    const added = (q: number) =>
      quantile(done.map((round, at) => quantile(round, q) - quantile(base[at] ?? [], q)), 0.5);
    const more = done === base ? " | |" : ` ${added(0.5).toFixed(2)} | ${added(0.99).toFixed(2)} |`;
    console.log(`| ${name} | ${of(0.5).toFixed(2)} | ${of(0.99).toFixed(2)} |${more}`);
  }
}

async function measurePace(peers: readonly Peer[]): Promise<void> {
  const rounds = new Map<string, (readonly number[])[]>(peers.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const peer of peers) {
      const done = await runPaced(targetOf(peer), { pace: PACE, seconds: 3 });
      rounds.get(peer.name)?.push(done);
    }
  }
  printAdded(`at ${PACE} requests/s, ${ROUNDS} rounds`, rounds);
}

async function measureStream(peers: readonly Peer[]): Promise<void> {
  const rounds = new Map<string, number[][]>(peers.map(({ name }) => [name, []]));
  for (let round = -1; round < 3; round++) {
    for (const peer of peers) rounds.get(peer.name)?.push([]);
    for (let count = 0; count < STREAMS; count++) {
      for (const peer of peers) {
        const took = await firstByte({ ...targetOf(peer), path: "/events" });
        rounds.get(peer.name)?.at(-1)?.push(took);
      }
    }
    if (round < 0) { for (const done of rounds.values()) done.length = 0; }
  }
  printAdded(`first byte of a stream, 3 rounds of ${STREAMS}`, rounds);
}

/** Opens connections that send half a head, and sends requests meanwhile. */
async function measureSlow(peer: Peer): Promise<void> {
  const [alone, among, ends]: [number[], number[], number[]] = [[], [], []];
  let opened = 0;
  const ask = async () =>
    quantile(await runPaced(targetOf(peer), { pace: PACE / 2, seconds: 3 }), 0.99);
  for (let round = 0; round < 3; round++) {
    alone.push(await ask());
    const slow: Deno.Conn[] = [];
    const started = performance.now();
    while (slow.length < SLOW) {
      try {
        const connection = await Deno.connect({ hostname: "127.0.0.1", port: peer.port });
        await connection.write(
          new TextEncoder().encode("GET /api/agents HTTP/1.1\r\nhost: x\r\nx"),
        );
        slow.push(connection);
      } catch {
        break;
      }
    }
    among.push(await ask());
    opened = slow.length;
    await Promise.all(slow.map(untilClosed));
    ends.push((performance.now() - started) / 1000);
  }
  const [without, within] = [quantile(alone, 0.5), quantile(among, 0.5)];
  console.log(
    `\n${opened} slow connections: p99 ${without.toFixed(2)} ms without them, ` +
      `${within.toFixed(2)} ms among them (${
        (within / without).toFixed(2)
      } times, medians of 3); ` +
      `all were closed ${quantile(ends, 0.5).toFixed(0)} s after the first was opened`,
  );
}

async function untilClosed(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(512);
  try {
    while (await connection.read(buffer) !== null);
  } catch {
    // A reset counts as closed.
  }
  connection.close();
}

/** Starts the login proxy with passwords, one of them under a slow hash. */
async function startBasic(ground: Ground): Promise<Peer> {
  const { port, pid } = await startProxy(ground, "basic", () => ({
    WEBVIEW_AUTH_DRIVER: "basic",
    WEBVIEW_BASIC_USERS: `mia@example.org:${SLOW_HASH},${OTHER.name}:${OTHER.password}`,
  }));
  const authorization = `Basic ${btoa(`${OTHER.name}:${OTHER.password}`)}`;
  const answer = await fetch(`http://localhost:${port}/auth/login`, {
    redirect: "manual",
    headers: { authorization },
  });
  await answer.body?.cancel();
  const [cookie = ""] = answer.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
  return { name: "fleetctl-login, a session", port, pids: [pid], headers: { cookie } };
}
