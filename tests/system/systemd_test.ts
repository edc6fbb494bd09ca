/**
 * The service adapter and the quoting of unit files against real systemd: it must read back what
 * the renderer prints.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { ServiceFault, type ServiceManager } from "units/manager/service_manager.ts";
import { printEnvFile } from "core/text/env_file.ts";
import { printExec, quoteAssignment } from "core/text/quote.ts";
import { systemdServices } from "units/manager/os/systemd.ts";
import { UNIT_FOLDERS } from "units/manager/os/systemd_list.ts";
import { type BootedHost, bootHost } from "tests/support/booted_host.ts";

const UNITS: Readonly<Record<string, string>> = {
  good: "[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n",
  bad: '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo last words >&2; exit 3"\n',
  env: "[Service]\nType=oneshot\nEnvironmentFile=/etc/nasty.env\n" +
    'ExecStart=/bin/sh -c "cat /proc/self/environ > /run/nasty.env"\n',
};

/** Values that a parser on the way could mistake for syntax. */
const NASTY = fc.sample(
  fc.oneof(
    fc.stringMatching(/^["'\\`$#; \t\n\r=a%!{}*]*$/),
    fc.string({ unit: "grapheme" }),
  ).filter((value) => !value.includes("\0") && value.isWellFormed()),
  { numRuns: 400, seed: 9 },
);

async function writeUnit(host: BootedHost, name: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${host.root}/etc/systemd/system/${name}.service`, text);
}

function parseEnviron(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split("\0").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
}

/** A booted host and its service manager. */
interface Scene {
  readonly host: BootedHost;
  readonly services: ServiceManager;
}

/** What the adapter does with real systemd, and its check. */
const STEPS: readonly (readonly [what: string, check: (scene: Scene) => Promise<void>])[] = [
  ["starts, restarts, enables, disables and stops a unit", runsUnit],
  ["starts and stops many sockets at once, and names the one that fails", runsManySockets],
  ["reports why a unit failed, with its last log lines", reportsFailure],
  ["reads each value of an environment file as it was written", readsEnvFile],
  ["reads each argument and assignment as it was quoted", readsQuoted],
];

async function runsUnit({ host, services }: Scene): Promise<void> {
  await services.start("good.service");
  const [before] = await services.status(["good.service"]);
  assert.deepEqual([before?.load, before?.active], ["loaded", "active"]);
  assert.ok((before?.mainPid ?? 0) > 0 && (before?.since ?? 0) > Date.UTC(2026, 0, 1));
  await services.restart("good.service");
  const [after] = await services.status(["good.service"]);
  assert.notEqual(after?.mainPid, before?.mainPid);
  const link = `${host.root}/etc/systemd/system/multi-user.target.wants/good.service`;
  assert.deepEqual(await services.each("enable", ["good.service"]), []);
  assert.ok((await Deno.lstat(link)).isSymlink);
  assert.deepEqual(await services.each("disable", ["good.service"]), []);
  await assert.rejects(Deno.lstat(link), Deno.errors.NotFound);
  await services.reload();
  await services.stop("good.service");
  // The unit is stopped and disabled, so systemd no longer has it in memory.
  const [stopped] = await services.status(["good.service"]);
  assert.deepEqual([stopped?.load, stopped?.active], ["loaded", "inactive"]);
}

async function runsManySockets({ host, services }: Scene): Promise<void> {
  const names = Array.from({ length: 30 }, (_, index) => `many-${index}.socket`);
  for (const [index, name] of names.entries()) {
    const path = `${host.root}/etc/systemd/system/${name}`;
    // A socket cannot be created where a folder exists.
    const at = index === 7 ? "/run" : `/run/many-${index}.sock`;
    await Deno.writeTextFile(path, `[Socket]\nAccept=yes\nListenStream=${at}\n`);
    await Deno.writeTextFile(
      path.replace(".socket", "@.service"),
      "[Service]\nExecStart=/bin/cat\nStandardInput=socket\n",
    );
  }
  const faults = await services.each("start", names);
  assert.deepEqual(faults.map(({ unit }) => unit), ["many-7.socket"]);
  assert.match(faults[0]?.message ?? "", /^Cannot start many-7\.socket: /);
  const states = await services.status(names);
  assert.deepEqual(
    states.map(({ active }) => active),
    names.map((_, index) => (
      index === 7 ? "failed" : "active"
    )),
  );
  assert.deepEqual(await services.each("stop", names), []);
  assert.ok((await services.status(names)).every(({ active }) => active !== "active"));
}

async function reportsFailure({ host, services }: Scene): Promise<void> {
  await assert.rejects(services.start("bad.service"), (thrown: unknown) => {
    assert.ok(thrown instanceof ServiceFault);
    assert.match(thrown.message, /^Cannot start bad\.service: Job for bad\.service failed/);
    assert.ok(thrown.journal.includes("last words"), thrown.journal.join("\n"));
    return true;
  });
  await host.must("systemctl", "mask", "masked.service");
  await host.must("systemctl", "link", "/srv/linked.service");
  const asked = ["bad", "none", "masked", "linked"].map((name) => `${name}.service`);
  const [bad, none, masked, linked] = await services.status(asked);
  assert.deepEqual([bad?.active, bad?.reason], ["failed", "exit-code 3"]);
  assert.deepEqual([none?.load, none?.active], ["not-found", "inactive"]);
  assert.equal(masked?.load, "not-found");
  assert.deepEqual([linked?.load, linked?.active], ["loaded", "inactive"]);
  await assert.rejects(services.start("none.service"), /none\.service not found/);
  assert.ok((await services.journal("bad.service", 50)).includes("last words"));
}

async function readsEnvFile({ host, services }: Scene): Promise<void> {
  const text = printEnvFile(NASTY.map((value, index) => [`K${index}`, value] as const));
  assert.ok(text.ok);
  await Deno.writeTextFile(`${host.root}/etc/nasty.env`, text.value);
  await services.start("env.service");
  const got = parseEnviron(await host.read("/run/nasty.env"));
  for (const [index, value] of NASTY.entries()) assert.equal(got.get(`K${index}`), value);
}

async function readsQuoted({ host, services }: Scene): Promise<void> {
  const words = NASTY.filter((word) => !/[\n\r]/.test(word));
  const program = 'printf "%s\\0" "$@" > /run/args; cat /proc/self/environ > /run/assigned';
  const assignments = words.map((word, index) =>
    `Environment=${quoteAssignment(`E${index}`, word)}\n`
  );
  const exec = printExec("/bin/sh", ["-c", program, "sh", ...words]);
  await writeUnit(
    host,
    "quoted",
    `[Service]\nType=oneshot\n${assignments.join("")}ExecStart=${exec}\n`,
  );
  await services.reload();
  await services.start("quoted.service");
  assert.deepEqual((await host.read("/run/args")).split("\0").slice(0, -1), words);
  const got = parseEnviron(await host.read("/run/assigned"));
  for (const [index, word] of words.entries()) assert.equal(got.get(`E${index}`), word);
}

Deno.test("systemdServices() and the printed units agree with real systemd", async (t) => {
  const host = await bootHost();
  try {
    const services = systemdServices(host.processes, {
      booted: host.path("/run/systemd/system"),
      units: UNIT_FOLDERS.map((folder) => host.path(folder)),
    });
    for (const [name, text] of Object.entries(UNITS)) await writeUnit(host, name, text);
    await Deno.mkdir(`${host.root}/srv`, { recursive: true });
    await Deno.writeTextFile(`${host.root}/srv/linked.service`, UNITS.good ?? "");
    await services.reload();
    for (const [what, check] of STEPS) await t.step(what, () => check({ host, services }));
  } finally {
    await host.stop();
  }
});
