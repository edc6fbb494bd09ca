/**
 * @module
 */

import assert from "node:assert/strict";
import { type LogOptions, stderrLog } from "core/os/log.ts";

function open(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = stderrLog({
    program: "fleetctl-test",
    format: "json",
    now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    write: (line) => lines.push(line),
    ...options,
  });
  return { log, lines };
}

Deno.test("stderrLog() prints one JSON line with event, level, program and time", () => {
  const { log, lines } = open();
  log.info("ready", { port: 8731 });
  assert.deepEqual(lines, [
    '{"at":"2026-01-02T03:04:05.006Z","level":"info","program":"fleetctl-test",' +
    '"event":"ready","port":8731}\n',
  ]);
});

Deno.test("stderrLog() prints nothing below its level", () => {
  const { log, lines } = open({ level: "warning" });
  log.debug("a");
  log.info("b");
  log.warning("c");
  log.error("d");
  assert.deepEqual(lines.map((line) => JSON.parse(line).event), ["c", "d"]);
});

Deno.test("stderrLog() adds the fields of with() and lets a line override them", () => {
  const { log, lines } = open();
  log.with({ agent: "ada", turn: 1 }).with({ turn: 2 }).info("turn", { extra: true });
  const { agent, turn, extra } = JSON.parse(lines[0] ?? "");
  assert.deepEqual([agent, turn, extra], ["ada", 2, true]);
});

Deno.test("stderrLog() does not let a field replace the event", () => {
  const { log, lines } = open();
  log.info("denied", { event: "ready", level: "debug", program: "other" });
  const line = JSON.parse(lines[0] ?? "");
  assert.deepEqual([line.event, line.level, line.program], ["denied", "info", "fleetctl-test"]);
  assert.equal(lines[0]?.includes('"ready"'), false);
});

Deno.test("stderrLog() prints untrusted text on one line", () => {
  const { log, lines } = open();
  log.info("said", { text: 'a\n{"event":"ready"}\r\u001b[2J' });
  assert.equal(lines[0]?.split("\n").length, 2);
  assert.equal(lines[0]?.includes("\u001b"), false);
});

Deno.test("stderrLog() prints words on a terminal, without control characters", () => {
  const { log, lines } = open({ format: "logfmt" });
  log.warning("turn refused", { agent: "ada", text: "two\nlines \u001b[31m\u009b1A\u202e" });
  assert.deepEqual(lines, [
    '03:04:05.006 warning fleetctl-test: "turn refused" agent=ada ' +
    'text="two\\nlines \\u001b[31m\\u009b1A\\u202e"\n',
  ]);
});

Deno.test("stderrLog() reports how many lines were lost once its reader is back", async () => {
  const script = `
    import { stderrLog } from ${JSON.stringify(import.meta.resolve("core/os/log.ts"))};
    const log = stderrLog({ program: "p", format: "json" });
    log.info("first");
    log.info("second");
    console.log("alive");
  `;
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", 'exec "$0" eval "$1" 2>&-', Deno.execPath(), script],
    stdout: "piped",
    stderr: "null",
    cwd: new URL("../../..", import.meta.url).pathname,
  });
  const { stdout, code } = await child.output();
  assert.equal(code, 0);
  assert.equal(new TextDecoder().decode(stdout), "alive\n");
});

Deno.test("stderrLog() escapes terminal control characters, and JSON restores them", () => {
  const odd = "x\u009b31m\u202ey\u2028z\u{e0001}";
  for (const format of ["json", "logfmt"] as const) {
    const lines: string[] = [];
    const log = stderrLog({ program: "p", format, write: (line) => lines.push(line) });
    log.info("said", { odd });
    assert.doesNotMatch(lines.join(""), /[\u0080-\u009f\u202e\u2028\u{e0001}]/u);
    if (format === "json") assert.equal(JSON.parse(lines[0] ?? "").odd, odd);
  }
});
