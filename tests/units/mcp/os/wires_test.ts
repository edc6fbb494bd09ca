/**
 * The `Wire` port on real descriptors: whole messages in order, short ones written at once and long
 * ones queued, and the end of either side.
 *
 * @module
 */

import assert from "node:assert/strict";
import { connectWire } from "units/mcp/os/wires.ts";
import { wireOf } from "units/mcp/wire.ts";
import { TREE } from "tests/support/module_graph.ts";

const CHECKS = { sanitizeOps: true, sanitizeResources: true };

/** A program that answers each line `<number> <size>` with the number and `size` characters. */
const ECHO = `
import { stdioWire } from "units/mcp/os/wires.ts";
const wire = stdioWire();
const encoder = new TextEncoder();
let rest = "";
for (let chunk = await wire.read(); chunk !== undefined; chunk = await wire.read()) {
  const lines = (rest + new TextDecoder().decode(chunk)).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const [number, size] = line.split(" ");
    const bytes = encoder.encode(number + " " + "x".repeat(Number(size)) + "\\n");
    // The program does not wait for writes: the wire keeps them complete and in order.
    if (!wire.writeNow(bytes)) void wire.write(bytes).catch(() => {});
  }
}
wire.close();
`;

async function startEcho(): Promise<Deno.ChildProcess & AsyncDisposable> {
  const folder = await Deno.makeTempDir();
  const program = `${folder}/echo.ts`;
  await Deno.writeTextFile(program, ECHO);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-check", "-A", `--config=${TREE}deno.json`, program],
    cwd: TREE,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  return Object.assign(child, {
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  });
}

Deno.test("stdioWire() keeps short and long messages whole and in order", async () => {
  await using child = await startEcho();
  const sizes = Array.from({ length: 300 }, (_, at) => at % 7 === 0 ? 200_000 : at % 5);
  const writer = child.stdin.getWriter();
  const writing = (async () => {
    for (const [at, size] of sizes.entries()) {
      await writer.write(new TextEncoder().encode(`${at} ${size}\n`));
    }
    await writer.close();
  })();
  const answered = new TextDecoder().decode(
    await new Response(child.stdout).bytes(),
  ).split("\n");
  await writing;
  assert.equal((await child.status).code, 0);
  assert.equal(answered.pop(), "");
  assert.deepEqual(
    answered.map((line) => [line.split(" ")[0], line.length]),
    sizes.map((size, at) => [String(at), String(at).length + 1 + size]),
  );
});

Deno.test("stdioWire() survives a peer that has disconnected", async () => {
  await using child = await startEcho();
  await child.stdout.cancel();
  const writer = child.stdin.getWriter();
  for (const line of ["1 10\n", "2 200000\n", "3 10\n"]) {
    await writer.write(new TextEncoder().encode(line));
  }
  await writer.close();
  assert.equal((await child.status).code, 0, "it ends with its input, and not before");
});

Deno.test(
  "connectWire() writes in order, reads until the end and ends when closed",
  CHECKS,
  async () => {
    const folder = await Deno.makeTempDir();
    const listener = Deno.listen({ transport: "unix", path: `${folder}/s` });
    const serving = (async () => {
      const connection = await listener.accept();
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of connection.readable) {
        text += decoder.decode(chunk, { stream: true });
      }
      return text;
    })();
    const wire = await connectWire(`${folder}/s`);
    const reading = wire.read();
    const parts = ["a".repeat(300_000), "b", "c".repeat(100_000), "d"];
    await Promise.all(parts.map((part) => wire.write(new TextEncoder().encode(part))));
    wire.close();
    wire.close();
    assert.equal(await reading, undefined);
    assert.equal(await serving, parts.join(""));
    await assert.rejects(wire.write(new Uint8Array(1)));
    listener.close();
    await Deno.remove(folder, { recursive: true });
  },
);

Deno.test("wireOf() behaves the same over web streams", CHECKS, async () => {
  const pipe = new TransformStream<Uint8Array, Uint8Array>();
  const wire = wireOf(pipe);
  void wire.write(new TextEncoder().encode("hello"));
  assert.equal(new TextDecoder().decode(await wire.read()), "hello");
  wire.close();
  assert.equal(await wire.read(), undefined);
});
