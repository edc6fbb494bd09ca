/**
 * An agent cannot keep its removal busy with a file that is larger than any disk.
 *
 * @module
 */

import assert from "node:assert/strict";
import { archiveHome } from "cli/agents/archive_home.ts";
import type { VerbContext } from "cli/context.ts";
import type { AgentName } from "core/names.ts";
import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { pathsUnder } from "core/paths.ts";

const HOLE_BYTES = 8 * 2 ** 40;

Deno.test("archiveHome() reads only what is there of a sparse file", async () => {
  const root = await Deno.makeTempDir();
  try {
    const paths = pathsUnder(root);
    const home = paths.home("ada");
    await Deno.mkdir(home, { recursive: true });
    await Deno.writeTextFile(`${home}/hole`, "start");
    await Deno.truncate(`${home}/hole`, HOLE_BYTES);
    const ports = { clock: systemClock(), files: denoFiles(), processes: systemProcesses() };
    const context = { ports, paths } as unknown as VerbContext;
    const archived = await archiveHome(context, "ada" as AgentName);
    assert.ok(archived.ok, JSON.stringify(archived));
    const { size } = await Deno.stat(archived.value ?? "");
    assert.ok(size < 10_000, `${size} bytes`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
