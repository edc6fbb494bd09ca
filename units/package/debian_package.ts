/**
 * Builds the Debian package from a staged tree: the rendered files, the completion and manual page
 * that the built `fleetctl` prints, license terms and control files. Then runs `dpkg-deb`.
 *
 * @module
 */

import type { RenderedFile } from "core/files/rendered_file.ts";
import { ok, type Result } from "core/result.ts";
import { VERSION } from "core/version.ts";
import changelog from "units/package/changelog.txt" with { type: "text" };
import type { Bundle } from "units/package/bundle.ts";
import {
  controlText,
  copyrightText,
  debianArchitecture,
  type Ingredient,
  LINTIAN_OVERRIDES,
  SCRIPTS,
} from "units/package/debian.ts";
import { packageFiles, plain } from "units/package/package_files.ts";
import { type BuildContext, runStep } from "units/package/build_context.ts";

/** Input of the package. */
export interface Staged {
  /** The tree that becomes `/` of the host; already contains the programs. */
  readonly stage: string;
  readonly bundles: readonly Bundle[];
  readonly arch: string;
  /** Output folder for the package. */
  readonly out: string;
}

/** Output of `fleetctl`, with the paths where shells and `man` look for it. */
const GENERATED = [
  ["/usr/share/bash-completion/completions/fleetctl", "completion", "bash"],
  ["/usr/share/zsh/vendor-completions/_fleetctl", "completion", "zsh"],
  ["/usr/share/fish/vendor_completions.d/fleetctl.fish", "completion", "fish"],
  ["/usr/share/man/man1/fleetctl.1", "help", "--man"],
] as const;

const CHANGELOG = "/usr/share/doc/fleetctl/changelog";

/** Writes all files of the package except the programs into the stage. */
export async function stageFiles(context: BuildContext, staged: Staged): Promise<Result<void>> {
  const rendered = packageFiles();
  if (!rendered.ok) return rendered;
  const files: RenderedFile[] = [...rendered.value];
  for (const [path, ...words] of GENERATED) {
    const program = `${staged.stage}/usr/lib/fleetctl/fleetctl.js`;
    const printed = await runStep(context, `run "fleetctl ${words.join(" ")}"`, [
      context.deno,
      "run",
      "-q",
      "--no-config",
      "--cached-only",
      "-A",
      program,
      ...words,
    ]);
    if (!printed.ok) return printed;
    files.push(plain(path, printed.value));
  }
  files.push(
    ...await documents(context),
    plain("/usr/share/lintian/overrides/fleetctl", LINTIAN_OVERRIDES),
    plain(CHANGELOG, changelog),
  );
  const ingredients = await ingredientsOf(context, staged.bundles);
  files.push(plain("/usr/share/doc/fleetctl/copyright", copyrightText(ingredients)));
  for (const file of files) {
    const path = `${staged.stage}${file.path}`;
    await context.files.ensureDir(path.slice(0, path.lastIndexOf("/")));
    await context.files.write(path, file.content, { mode: file.mode });
  }
  await context.files.ensureDir(`${staged.stage}/usr/bin`);
  await context.files.symlink("../lib/fleetctl/fleetctl", `${staged.stage}/usr/bin/fleetctl`);
  const zipped = await runStep(context, "compress the manual page and the changelog", [
    ...["gzip", "-9nf"] as const,
    ...["/usr/share/man/man1/fleetctl.1", CHANGELOG].map((path) => `${staged.stage}${path}`),
  ]);
  if (!zipped.ok) return zipped;
  // The package's modes must not depend on the builder's umask.
  const modes = await runStep(context, "set modes", ["chmod", "-R", "u+rwX,go=rX", staged.stage]);
  return modes.ok ? ok(undefined) : modes;
}

/** Returns the documents for a host: the tree's own, with the links between them. */
async function documents({ files, tree }: BuildContext): Promise<readonly RenderedFile[]> {
  const found: RenderedFile[] = [];
  for (const folder of ["", "/docs", "/docs/adr"]) {
    for (const name of await files.list(`${tree}${folder}`)) {
      if (!name.endsWith(".md") || (folder === "" && name !== "README.md")) continue;
      const text = await files.readText(`${tree}${folder}/${name}`) ?? "";
      found.push(plain(`/usr/share/doc/fleetctl${folder}/${name}`, text));
    }
  }
  return found;
}

/** Builds the package of a complete stage; returns its path. */
export async function debianPackage(
  context: BuildContext,
  staged: Staged,
): Promise<Result<string>> {
  const { stage, out, arch } = staged;
  const control = `${stage}/DEBIAN`;
  await context.files.remove(control, { recursive: true });
  const used = await runStep(context, "measure the package", ["du", "-sk", stage]);
  if (!used.ok) return used;
  await context.files.ensureDir(control, { mode: 0o755 });
  const about = { version: VERSION, arch, kilobytes: Number.parseInt(used.value, 10) };
  await context.files.write(`${control}/control`, controlText(about), { mode: 0o644 });
  for (const [name, text] of Object.entries(SCRIPTS)) {
    await context.files.write(`${control}/${name}`, text, { mode: 0o755 });
  }
  const path = `${out}/fleetctl_${VERSION}_${debianArchitecture(arch)}.deb`;
  const built = await runStep(context, "build the Debian package", [
    "dpkg-deb",
    "--root-owner-group",
    "-Zgzip",
    "-z1",
    "--build",
    stage,
    path,
  ]);
  return built.ok ? ok(path) : built;
}

/** Reads the license terms of each package. */
async function ingredientsOf(
  context: BuildContext,
  bundles: readonly Bundle[],
): Promise<readonly Ingredient[]> {
  const folders = [...new Set(bundles.flatMap((bundle) => bundle.packages))].sort();
  return await Promise.all(folders.map(async (folder) => {
    const at = folder.startsWith("/") ? folder : `${context.tree}/${folder}`;
    const names = await context.files.list(at);
    const file = names.find((name) => /^(licen[cs]e|copying)/i.test(name));
    return {
      name: folder.replace(/^.*?npm\/[^/]+\//, ""),
      license: file === undefined ? undefined : await context.files.readText(`${at}/${file}`),
    };
  }));
}
