/**
 * `./dev bench login`: CPU time per request of the login proxy and of its peers, one after the other in
 * turn, over one upstream; latency at a steady pace; the first byte of a stream; and what slow
 * connections do to others.
 *
 * @module
 */

import { quantile } from "tests/bench/measure.ts";
import { type Round, runLoad } from "tests/bench/login/load.ts";
import {
  freePort,
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
const SECONDS = 3;
const ROUNDS = 5;
const PACE = 1_000;
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
    const peers = [direct, own.exempt, own.session, ...await startPeers(ground)];
    await measureCpu(peers);
    await measurePace([direct, own.session]);
    await measureStream([direct, own.session]);
    await measureSlow(own.session);
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

/** The login proxy, signed in by the same provider as its peers. */
async function startOwn(ground: Ground): Promise<{ exempt: Peer; session: Peer }> {
  const port = freePort();
  const pid = await start(
    Deno.execPath(),
    ["run", "-q", "-A", "--no-check", "--config", `${TREE}deno.json`, `${TREE}login/main.ts`],
    {
      port,
      ground,
      env: {
        FLEETCTL_ROOT: `${ground.folder}/root`,
        WEBVIEW_LOGIN_LISTEN: `127.0.0.1:${port}`,
        WEBVIEW_UPSTREAM: `http://127.0.0.1:${ground.upstream}`,
        WEBVIEW_OIDC_ISSUER: ground.issuer,
        WEBVIEW_OIDC_CLIENT_ID: ground.clientId,
        WEBVIEW_OIDC_CLIENT_SECRET: ground.clientSecret,
        WEBVIEW_URL: `http://localhost:${port}`,
        WEBVIEW_HMAC_KEY: "a-key-of-the-bench-0000000000000",
        WEBVIEW_ASSERTION_KEY: "a-key-of-the-bench-1111111111111",
      },
    },
  );
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

async function measurePace(peers: readonly Peer[]): Promise<void> {
  console.log(`\n| at ${PACE} requests/s | median ms | p99 ms |\n|---|---|---|`);
  for (const peer of peers) {
    const { latencies } = await runLoad(targetOf(peer), {
      pids: peer.pids,
      connections: CONNECTIONS,
      seconds: SECONDS * 2,
      pace: PACE,
    });
    console.log(
      `| ${peer.name} | ${quantile(latencies, 0.5).toFixed(2)} | ${
        quantile(latencies, 0.99).toFixed(2)
      } |`,
    );
  }
}

async function measureStream(peers: readonly Peer[]): Promise<void> {
  console.log("\n| first byte of a stream | median ms | p99 ms |\n|---|---|---|");
  for (const peer of peers) {
    const times: number[] = [];
    for (let round = 0; round < 100; round++) {
      const leave = new AbortController();
      const started = performance.now();
      const answer = await fetch(`http://127.0.0.1:${peer.port}/events`, {
        headers: peer.headers,
        signal: leave.signal,
      });
      await answer.body?.getReader().read();
      times.push(performance.now() - started);
      leave.abort();
    }
    console.log(
      `| ${peer.name} | ${quantile(times, 0.5).toFixed(2)} | ${quantile(times, 0.99).toFixed(2)} |`,
    );
  }
}

/** Opens connections that send a byte now and then, and asks meanwhile. */
async function measureSlow(peer: Peer): Promise<void> {
  const wanted = 10_000;
  const ask = async () => {
    const { latencies } = await runLoad(targetOf(peer), {
      pids: peer.pids,
      connections: CONNECTIONS,
      seconds: SECONDS,
      pace: PACE / 2,
    });
    return quantile(latencies, 0.99);
  };
  const alone = await ask();
  const slow: Deno.Conn[] = [];
  for (let count = 0; count < wanted; count++) {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: peer.port });
      await connection.write(new TextEncoder().encode("GET /api/agents HTTP/1.1\r\nhost: x\r\nx"));
      slow.push(connection);
    } catch {
      break;
    }
  }
  const among = await ask();
  const opened = performance.now();
  let closed = 0;
  await Promise.all(slow.map(async (connection) => {
    const buffer = new Uint8Array(512);
    try {
      while (await connection.read(buffer) !== null);
    } catch {
      // Reset is closed as well.
    }
    closed++;
    connection.close();
  }));
  console.log(
    `\n${slow.length} slow connections: p99 ${alone.toFixed(2)} ms without them, ` +
      `${among.toFixed(2)} ms among them; all ${closed} were closed ${
        ((performance.now() - opened) / 1000).toFixed(0)
      } s after that`,
  );
}
