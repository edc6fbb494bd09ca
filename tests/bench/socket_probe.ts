/**
 * Runs inside a booted host, started by `tests/bench/socket.ts`. Times the first answer of an MCP
 * server in four cases, in turn: started by its socket; behind a socket without a sandbox; and
 * started by hand as the same user, with its tree checked and without. Prints one JSON object of
 * lists of milliseconds. Arguments: MCP, agent, rounds.
 *
 * @module
 */

const [mcp = "", agent = "", rounds = "0"] = Deno.args;
const MESSAGES = [
  {
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    },
  },
  { method: "notifications/initialized" },
  { id: 1, method: "tools/list", params: {} },
].map((message) => new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n"));
const DENO_DIR = `/home/${agent}/.cache/fleetctl/mcp-${mcp}`;

interface Pipes {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<Uint8Array<ArrayBuffer>>;
}

/** Resolves when the answer to the second request has arrived. */
async function ask({ readable, writable }: Pipes): Promise<void> {
  const [initialize, ...rest] = MESSAGES;
  const writer = writable.getWriter();
  await writer.write(initialize as Uint8Array<ArrayBuffer>);
  let text = "";
  let isGreeted = false;
  for await (const chunk of readable.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const has = (id: number) => text.split("\n").some((line) => line.includes(`"id":${id}`));
    if (has(1)) return;
    if (!isGreeted && has(0)) {
      isGreeted = true;
      for (const message of rest) await writer.write(message);
    }
  }
  throw new Error(`no answer: ${text}`);
}

/** Returns the unit's command, with or without the product's check of the tree. */
async function commandByHand(isChecked: boolean): Promise<readonly string[]> {
  const unit = await Deno.readTextFile(`/etc/systemd/system/mcp-${mcp}-${agent}@.service`);
  const line = /^ExecStart=(.+)$/m.exec(unit)?.[1] ?? "";
  const words = line.split(" ").map((word) => word.replace(/^"|"$/g, ""));
  return isChecked ? words : words.slice(words.indexOf("/usr/lib/fleetctl/deno"));
}

async function bySocket(name: string): Promise<void> {
  const path = `/run/mcp/${name}-${agent}.sock`;
  const connection = await Deno.connect({ transport: "unix", path });
  // Leaving the loop over its answers closes the connection.
  await ask(connection);
}

async function byHand(words: readonly string[]): Promise<void> {
  const become = [`--reuid=${agent}`, `--regid=${agent}`, "--init-groups", "--"];
  const env = [
    `HOME=/home/${agent}`,
    "PATH=/usr/bin:/bin",
    `DENO_DIR=${DENO_DIR}`,
    "KEYED_TOKEN=x",
    // The check uses these to find the agent's permission sets and its own program.
    "FLEETCTL_ROOT=/",
    `FLEETCTL_AGENT=${agent}`,
  ];
  const child = new Deno.Command("/usr/bin/setpriv", {
    args: [...become, "env", "-i", ...env, ...words],
    cwd: `/home/${agent}`,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  await ask({ readable: child.stdout, writable: child.stdin });
  child.kill("SIGKILL");
  await child.status;
}

const bare = await commandByHand(false);
const checked = await commandByHand(true);
const runs = {
  hand: () => byHand(bare),
  checked: () => byHand(checked),
  bare: () => bySocket("bare"),
  socket: () => bySocket(mcp),
};
const times: Record<string, number[]> = {};
for (let round = -2; round < Number(rounds); round++) {
  for (const [name, run] of Object.entries(runs)) {
    const started = performance.now();
    await run();
    if (round >= 0) (times[name] ??= []).push(performance.now() - started);
  }
}
console.log(JSON.stringify(times));
