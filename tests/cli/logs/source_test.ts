/**
 * Log lines from the programs that read them: existing lines, new lines, and that a reader who
 * stops leaves no process behind.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type LogLine, parseJournalLine, readLogs } from "cli/logs/source.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { pathsUnder } from "core/paths.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";

Deno.test({
  name: "readLogs() follows log files until it is stopped",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    const root = await Deno.makeTempDir();
    const paths = pathsUnder(root);
    await Deno.mkdir(paths.logs, { recursive: true });
    const file = `${paths.logs}/fleetctl-gateway.service.log`;
    await Deno.writeTextFile(file, "first\nsecond\n");
    const stop = new AbortController();
    const seen: LogLine[] = [];
    try {
      const done = await readLogs(
        { files: denoFiles(), processes: systemProcesses() },
        paths,
        {
          units: ["fleetctl-gateway.service"],
          lines: 1,
          isFollowing: true,
          stop: stop.signal,
        },
        async (line) => {
          seen.push(line);
          if (line.text === "second") {
            await Deno.writeTextFile(file, "third\n", { append: true });
          } else stop.abort();
        },
      );
      assert.deepEqual(done, { ok: true, value: undefined });
      assert.deepEqual(seen.map((line) => line.text), ["second", "third"]);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});

Deno.test("readLogs() asks the journal for a template's instances, without a shell", async () => {
  const asked: (readonly string[])[] = [];
  const processes = fakeProcesses({
    "/usr/bin/journalctl": async (call) => {
      asked.push(call.args);
      await call.print(
        '{"MESSAGE":"hi","_SYSTEMD_UNIT":"x@1.service","__REALTIME_TIMESTAMP":"1000"}\n',
      );
      return 0;
    },
  });
  const seen: LogLine[] = [];
  const done = await readLogs(
    { files: denoFiles(), processes },
    pathsUnder("/"),
    {
      units: ["x@.service", "y.socket"],
      lines: 7,
      isFollowing: false,
      stop: new AbortController().signal,
    },
    async (line) => void seen.push(line),
  );
  assert.ok(done.ok);
  assert.deepEqual(asked[0]?.slice(-3), ["--lines=7", "--unit=x@*.service", "--unit=y.socket"]);
  assert.deepEqual(seen, [{ unit: "x@1.service", atMs: 1, text: "hi" }]);
});

Deno.test("readLogs() reports why there is no log in the words of the failed program", async () => {
  const processes = fakeProcesses({
    "/usr/bin/journalctl": async (call) => {
      await call.warn("No journal files were opened due to insufficient permissions.\n");
      return 1;
    },
  });
  const done = await readLogs({ files: denoFiles(), processes }, pathsUnder("/"), {
    units: ["y.service"],
    lines: 7,
    isFollowing: false,
    stop: new AbortController().signal,
  }, async () => {});
  assert.ok(!done.ok);
  assert.match(done.error.message, /insufficient permissions/);
});

Deno.test("parseJournalLine() reads text, bytes, and messages of the service manager", () => {
  assert.deepEqual(parseJournalLine('{"MESSAGE":[104,105],"_SYSTEMD_UNIT":"a.service"}'), {
    unit: "a.service",
    atMs: undefined,
    text: "hi",
  });
  assert.deepEqual(
    parseJournalLine('{"MESSAGE":"Started","UNIT":"a.service","_SYSTEMD_UNIT":"init.scope"}')?.unit,
    "a.service",
  );
  for (const text of ["", "null", "[", "1"]) assert.equal(parseJournalLine(text), undefined);
});
