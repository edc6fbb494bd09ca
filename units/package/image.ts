/**
 * Builds the container image of the team-chat gateway (docs/teamchat.md#container-image). It
 * assembles a root file system from the build's own files and the C library that the shipped Deno
 * is linked with. It adds a list of the contents, and buildah makes the image. Nothing is pulled.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { DEFAULT_ROLES } from "core/ledger/host_roles.ts";
import { pathsUnder } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { knownClouds, reachableHosts } from "core/teamchat/cloud.ts";
import { VERSION } from "core/version.ts";
import type { Bundle } from "units/package/bundle.ts";
import { type BuildContext, runStep } from "units/package/build_context.ts";
import { hostPermissions, printPermissions } from "units/render/permission_files.ts";

/** Name of the image and of its program. */
export const IMAGE = "fleetctl-teamchat";

/** Input of the image. */
export interface ImageInput {
  /** Folder for the root file system and the archive. */
  readonly out: string;
  /** Folder with the build's programs and the pinned Deno. */
  readonly lib: string;
  readonly bundle: Bundle;
  readonly denoVersion: string;
  /** Commit of the tree; empty outside a clone. */
  readonly revision: string;
  /** Copies a file with its mode, following links. */
  readonly copy: (from: string, to: string) => Promise<void>;
}

/** Checks the health of the gateway in the same container; exits with 1 unless it answers. */
const HEALTH = `const response = await fetch("http://127.0.0.1:3978/healthz");
Deno.exit(response.ok ? 0 : 1);
`;

const LISTEN = "0.0.0.0:3978";

/** Builds the archive `fleetctl-teamchat.tar` and returns its path. */
export async function buildImage(
  context: BuildContext,
  input: ImageInput,
): Promise<Result<string>> {
  const { files } = context;
  const work = `${input.out}/image`;
  await files.remove(work, { recursive: true });
  const filled = await fillRoot(context, input, work);
  if (!filled.ok) return filled;
  const containerfile = await files.readText(`${context.tree}/teamchat/Containerfile`) ?? "";
  await files.write(`${work}/Containerfile`, containerfile, { mode: 0o644 });
  const archive = `${input.out}/${IMAGE}.tar`;
  await files.remove(archive);
  for (const step of buildahSteps(work, archive, { ...context.env, REVISION: input.revision })) {
    const done = await runStep(context, "build the image", step);
    if (!done.ok) return done;
  }
  await files.remove(work, { recursive: true });
  return ok(archive);
}

/** Writes the image's contents below `rootfs` and `state` of the work folder. */
async function fillRoot(
  context: BuildContext,
  input: ImageInput,
  work: string,
): Promise<Result<void>> {
  const { files } = context;
  const lib = `${work}/rootfs/usr/lib/fleetctl`;
  await files.ensureDir(`${lib}/programs/${IMAGE}`, { mode: 0o755 });
  await files.ensureDir(`${work}/state/teamchat`, { mode: 0o755 });
  const programs = `programs/${IMAGE}`;
  for (const name of await files.list(`${input.lib}/${programs}`)) {
    await input.copy(`${input.lib}/${programs}/${name}`, `${lib}/${programs}/${name}`);
  }
  await input.copy(`${input.lib}/deno`, `${lib}/deno`);
  await files.write(`${lib}/health.js`, HEALTH, { mode: 0o644 });
  const permissions = imagePermissions();
  if (!permissions.ok) return permissions;
  await files.write(`${lib}/permissions.json`, permissions.value, { mode: 0o644 });
  const libraries = await linkedLibraries(context, `${lib}/deno`);
  if (!libraries.ok) return libraries;
  for (const path of libraries.value) {
    await files.ensureDir(`${work}/rootfs${path.slice(0, path.lastIndexOf("/"))}`, { mode: 0o755 });
    await input.copy(path, `${work}/rootfs${path}`);
  }
  await files.ensureDir(`${work}/rootfs/etc`, { mode: 0o755 });
  const user = "fleetctl:x:65532:65532::/var/lib/fleetctl:/nonexistent\n";
  await files.write(`${work}/rootfs/etc/passwd`, user, { mode: 0o644 });
  const contents = `${JSON.stringify(contentsOf(input, libraries.value), null, 2)}\n`;
  await files.ensureDir(`${work}/rootfs/usr/share/fleetctl`, { mode: 0o755 });
  await files.write(`${work}/rootfs/usr/share/fleetctl/sbom.json`, contents, { mode: 0o644 });
  await files.write(`${input.out}/${IMAGE}.sbom.json`, contents, { mode: 0o644 });
  return ok(undefined);
}

/** Returns the commands that build the image of a work folder and write it into an archive. */
function buildahSteps(
  work: string,
  archive: string,
  env: Readonly<Record<string, string>>,
): readonly [string, ...string[]][] {
  const created = Number(env.SOURCE_DATE_EPOCH ?? 0);
  const buildah = ["buildah", "--storage-driver", "vfs", "--root", `${work}/store`] as const;
  return [
    [
      ...buildah,
      "bud",
      "--isolation",
      "chroot",
      "--pull-never",
      "--format",
      "docker",
      "-q",
      "--timestamp",
      String(created),
      "--build-arg",
      `VERSION=${VERSION}`,
      "--build-arg",
      `CREATED=${new Date(created * 1000).toISOString()}`,
      "--build-arg",
      `REVISION=${env.REVISION}`,
      "-t",
      `${IMAGE}:${VERSION}`,
      work,
    ],
    [
      ...buildah,
      "push",
      "-q",
      `${IMAGE}:${VERSION}`,
      `docker-archive:${archive}:${IMAGE}:${VERSION}`,
    ],
  ];
}

/** All described clouds and loopback: the settings at run time decide which one is used. */
function imagePermissions(): Result<string> {
  const host = {
    paths: pathsUnder("/"),
    shape: DEFAULT_ROLES.shape,
    roles: {
      teamchat: {
        listen: LISTEN,
        registerListen: LISTEN,
        hosts: reachableHosts(knownClouds(), "either"),
        cloudFile: "/etc/fleetctl/teams-cloud.yaml",
      },
    },
  };
  const sets = hostPermissions(host);
  if (!sets.ok) return sets;
  const { teamchat } = sets.value;
  if (teamchat === undefined) {
    return err(
      refusal("build-failed", 'Cannot build the image: the permission set "teamchat" is missing'),
    );
  }
  return ok(printPermissions(host, { teamchat }));
}

/** Returns the paths of a program's shared libraries, as the loader of this machine finds them. */
async function linkedLibraries(
  context: BuildContext,
  program: string,
): Promise<Result<readonly string[]>> {
  const listed = await runStep(context, "list the libraries of Deno", ["ldd", program]);
  if (!listed.ok) return listed;
  const paths = listed.value.split("\n").flatMap((line) =>
    /(?:=> )?(\/\S+) \(0x[0-9a-f]+\)$/.exec(line.trim())?.[1] ?? []
  );
  return ok([...new Set(paths)].sort());
}

/** Returns the list of the contents in the CycloneDX 1.6 format. */
function contentsOf(input: ImageInput, libraries: readonly string[]): unknown {
  const packages = input.bundle.packages.map((folder) => {
    const found = /((?:@[^/]+\/)?[^/]+)\/(\d[^/]*)$/.exec(folder);
    const [, name = folder, version = ""] = found ?? [];
    return { type: "library", name, version, purl: `pkg:npm/${name}@${version}` };
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "container", name: IMAGE, version: VERSION } },
    components: [
      { type: "application", name: IMAGE, version: VERSION },
      { type: "framework", name: "deno", version: input.denoVersion },
      ...packages,
      ...libraries.map((path) => ({ type: "file", name: path })),
    ],
  };
}
