/**
 * Load of the team-chat bench: `autocannon`, each message new. Reads its settings as JSON from
 * standard input and writes its results as JSON to standard output. The first argument is the
 * folder that the package is resolved from.
 *
 * @module
 */
const { createRequire } = require("node:module");

const autocannon = createRequire(`${process.argv[2]}/deno.json`)("autocannon");

async function main() {
  const pieces = [];
  for await (const piece of process.stdin) pieces.push(piece);
  const { port, connections, seconds, most, message, first, owners, tokens } = JSON.parse(
    Buffer.concat(pieces).toString(),
  );
  let sent = 0;
  let answered = 0;
  const instance = autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: seconds,
    requests: [{
      method: "POST",
      path: "/api/messages",
      headers: { "content-type": "application/json" },
      setupRequest: (request) => {
        const n = sent++;
        const owner = n % owners;
        const body = message.replaceAll("{id}", String(first + n)).replaceAll("{n}", String(owner))
          .replaceAll("{owner}", String(owner).padStart(12, "0"));
        const authorization = `Bearer ${tokens[n % tokens.length]}`;
        return { ...request, body, headers: { ...request.headers, authorization } };
      },
    }],
  }, (fault, result) => {
    if (fault) throw fault;
    const { non2xx, errors, duration, latency } = result;
    process.stdout.write(JSON.stringify({
      answered: result["2xx"],
      refused: non2xx + errors,
      seconds: duration,
      p50: latency.p50,
      p99: latency.p99,
    }));
  });
  instance.on("response", () => {
    if (++answered === most) instance.stop();
  });
}

main();
