/**
 * `./dev build [--out DIR]`: bundles every program, compiles programs where Deno's runtime stub is
 * available, stages an installed host and builds the Debian package. Prints a line for each.
 *
 * DIR (default `build`) contains `fleetctl` (runs from there, `up` included), `lib` (the programs),
 * `package` (the staged host), `compiled`, and the `.deb`. The only download is, once, the bundler
 * that belongs to Deno.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { DEFAULT_ROLES } from "core/ledger/host_roles.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { pathsUnder } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";
import { type Bundle, bundleProgram } from "units/package/bundle.ts";
import { compileProgram, findStub, whyBundled } from "units/package/compile.ts";
import { debianPackage, stageFiles } from "units/package/debian_package.ts";
import { buildImage, IMAGE } from "units/package/image.ts";
import type { BuildContext } from "units/package/build_context.ts";
import { knownClouds, reachableHosts } from "core/teamchat/cloud.ts";
import { PREPARE, PROGRAMS } from "units/render/launchers.ts";
import { hostPermissions, printPermissions } from "units/render/permission_files.ts";

/** Starts `fleetctl` from any location of the build folder. */
const FRONT = `#!/bin/sh
# fleetctl of this build, under its own root: ./fleetctl up --root DIR
here=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd -P)
exec sh "$here/lib/fleetctl-under-root" bundle "$here/lib" "$here/lib/deno" "" fleetctl "$@"
`;

/** Listeners that compiled roles may open: the defaults of their settings. */
const GATEWAY = { cockpitListen: "127.0.0.1:8731", dialListen: "0.0.0.0:8735" };
const LOGIN = { listen: "0.0.0.0:8736" };
const TEAMCHAT = {
  listen: "127.0.0.1:3978",
  // Different from the messages address, so that receiver and sender are both compiled.
  registerListen: "127.0.0.1:3979",
  hosts: reachableHosts(knownClouds(), "either"),
  cloudFile: undefined,
};

const tree = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");
const files = denoFiles();

function fail(lines: readonly string[], code: number): never {
  for (const line of lines) console.error(line);
  Deno.exit(code);
}

function need<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  const { message, details, hints }: Refusal = result.error;
  return fail([
    `dev: ${message}`,
    ...details.map((line) => `  ${line}`),
    ...hints.map((line) => `hint: ${line}`),
  ], 1);
}

function outFolder(): string {
  const [first, second, ...rest] = Deno.args;
  const named = first === "--out" ? second : /^--out=(.+)$/.exec(first ?? "")?.[1];
  const isWhole = first === "--out" ? rest.length === 0 : second === undefined;
  if (first !== undefined && (named === undefined || named === "" || !isWhole)) {
    fail(["usage: ./dev build [--out DIR]"], 2);
  }
  if (named === undefined) return `${tree}/build`;
  const from = Deno.env.get("FLEETCTL_START_DIR") ?? Deno.cwd();
  return new URL(named, `file://${from}/`).pathname.replace(/\/$/, "");
}

function sizeText(bytes: number): string {
  return bytes < 1e5 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function line(name: string, shape: string, size: string, more: string): void {
  console.log(`${name.padEnd(18)} ${shape.padEnd(9)} ${size.padStart(9)}  ${more}`.trimEnd());
}

/** Returns the config with the permission sets of the compiled programs. */
async function compileConfig(path: string): Promise<string> {
  const context = {
    paths: pathsUnder("/"),
    shape: DEFAULT_ROLES.shape,
    roles: { gateway: GATEWAY, login: LOGIN, teamchat: TEAMCHAT },
  };
  await files.write(path, printPermissions(context, need(hostPermissions(context))));
  return path;
}

async function buildPrograms(
  context: BuildContext,
  out: string,
  lib: string,
): Promise<readonly Bundle[]> {
  const stub = await findStub(files, {
    env: context.env,
    version: Deno.version.deno,
    target: Deno.build.target,
  });
  const bundles = [need(await bundleProgram(context, PREPARE, lib))];
  for (const program of PROGRAMS) {
    const bundle = need(await bundleProgram(context, program, lib));
    bundles.push(bundle);
    const why = whyBundled(program, stub);
    line(program.name, "bundled", sizeText(bundle.bytes), why ?? "");
    if (why !== undefined) continue;
    await files.ensureDir(`${out}/compiled`);
    const config = await compileConfig(`${out}/compiled/permissions.json`);
    const output = `${out}/compiled/${program.name}`;
    const from = `${lib}/programs/${program.name}/main.js`;
    const size = need(await compileProgram(context, program, { bundle: from, config, output }));
    line(program.name, "compiled", sizeText(size), output);
  }
  return bundles;
}

/** The package uses the commit's time, so that one commit always gives the same package. */
async function commitTime(context: BuildContext): Promise<Readonly<Record<string, string>>> {
  const output = await gitOutput(context, ["log", "-1", "--format=%ct"]);
  return output === undefined ? {} : { SOURCE_DATE_EPOCH: output };
}

/** Returns undefined outside a clone, or without git. */
async function gitOutput(
  context: BuildContext,
  args: readonly string[],
): Promise<string | undefined> {
  const output = await context.processes.run({
    command: "git",
    args: [...args],
    cwd: tree,
    env: context.env,
  }).catch(() => undefined);
  return output?.code === 0 ? output.stdout.trim() : undefined;
}

/** Copies the cockpit's page, which `./dev` builds before this program runs. */
async function copyPage(lib: string): Promise<void> {
  const built = `${tree}/.cache/web`;
  await files.ensureDir(`${lib}/web`);
  let bytes = 0;
  for (const name of await files.list(built)) {
    await Deno.copyFile(`${built}/${name}`, `${lib}/web/${name}`);
    bytes += (await Deno.stat(`${built}/${name}`)).size;
  }
  line("page", "built", sizeText(bytes), "");
}

async function build(out: string): Promise<void> {
  const baseContext: BuildContext = {
    files,
    processes: systemProcesses(),
    tree,
    deno: await Deno.realPath(Deno.execPath()),
    env: { ...Deno.env.toObject(), NO_COLOR: "1", FLEETCTL_ROOT: `${out}/no-root` },
  };
  const context = { ...baseContext, env: { ...baseContext.env, ...await commitTime(baseContext) } };
  const stage = `${out}/package`;
  const lib = `${stage}/usr/lib/fleetctl`;
  await files.ensureDir(out);
  await files.remove(stage, { recursive: true });
  await files.remove(`${out}/compiled`, { recursive: true });
  await files.ensureDir(lib);
  const bundles = await buildPrograms(context, out, lib);
  await copyPage(lib);
  await Deno.copyFile(context.deno, `${lib}/deno`);
  await Deno.chmod(`${lib}/deno`, 0o755);
  line(`deno ${Deno.version.deno}`, "shipped", sizeText((await Deno.stat(context.deno)).size), "");
  const staged = { stage, bundles, arch: Deno.build.arch, out };
  need(await stageFiles(context, staged));
  await files.symlink("package/usr/lib/fleetctl", `${out}/lib`);
  await files.write(`${out}/fleetctl`, FRONT, { mode: 0o755 });
  const path = need(await packageHere(context, staged));
  if (path === undefined) line("package", "not built", "", "dpkg-deb is not installed");
  else line("package", "built", sizeText((await Deno.stat(path)).size), path);
  await image(context, { out, lib, bundles });
}

async function image(
  context: BuildContext,
  made: { readonly out: string; readonly lib: string; readonly bundles: readonly Bundle[] },
): Promise<void> {
  const bundle = made.bundles.find(({ name }) => name === IMAGE);
  if (bundle === undefined || await systemProcesses().which("buildah") === undefined) {
    return line("image", "not built", "", "buildah is not installed");
  }
  const archive = await buildImage(context, {
    out: made.out,
    lib: made.lib,
    bundle,
    denoVersion: Deno.version.deno,
    revision: await gitOutput(context, ["rev-parse", "HEAD"]) ?? "",
    copy: async (from, to) => {
      await Deno.copyFile(from, to);
      await Deno.chmod(to, ((await Deno.stat(from)).mode ?? 0o644) & 0o755);
    },
  });
  // buildah may be unable to run (a container without user namespaces); the build still succeeds.
  if (!archive.ok) return line("image", "not built", "", archive.error.details[0] ?? "");
  line("image", "built", sizeText((await Deno.stat(archive.value)).size), archive.value);
}

async function packageHere(
  context: BuildContext,
  staged: Parameters<typeof debianPackage>[1],
): Promise<Result<string | undefined>> {
  const isHere = await systemProcesses().which("dpkg-deb") !== undefined;
  return isHere ? await debianPackage(context, staged) : ok(undefined);
}

await build(outFolder());
