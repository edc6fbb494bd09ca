/**
 * The mutants of a run: a fixed set for the modules of the login proxy, and all mutants of changed
 * files. The choice depends only on the tree, so that a run is reproducible.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";
import type { Mutant } from "tests/login/mutants.ts";

/** Checks that every run removes. */
export const ALWAYS: readonly string[] = [
  "failures of a client",
  "the signature of a token",
  "the expiry of a token",
  "the row of a session",
  "the password behind a session",
  "the proxy's cookies in requests to the cockpit",
  "an identity in an answer of the cockpit",
  "names in Connection",
  "forwarding headers of untrusted peers",
  "ambiguous exempt paths",
  "pages of other sites",
  "a form that was used",
  "return paths to other hosts",
  "two framings of one request",
  "invalid chunks",
  "the connections of one client",
  "the signature of an ID token",
  "the nonce",
  "a sign-in that was already used",
  "the pin of an address",
];

/** Chooses the fixed mutants, and those whose file or tests changed. */
export function chooseMutants(
  all: readonly Mutant[],
  changed: ReadonlySet<string>,
): readonly Mutant[] {
  return all.filter(({ check, file, tests }) =>
    ALWAYS.includes(check) || changed.has(file) || tests.some((test) => changed.has(test))
  );
}

/**
 * Lists the files that differ from the base: the commit in `FLEETCTL_BASE`, else the merge base
 * with the upstream branch, else the previous commit.
 */
export async function changedFiles(): Promise<ReadonlySet<string>> {
  const base = Deno.env.get("FLEETCTL_BASE") ?? await followed() ?? "HEAD~1";
  const changed = await git("diff", "--name-only", base);
  const added = await git("ls-files", "--others", "--exclude-standard");
  return new Set([...lines(changed), ...lines(added)]);
}

/**
 * Returns the merge base with the upstream; undefined if there is no upstream or HEAD is the base.
 */
async function followed(): Promise<string | undefined> {
  const base = lines(await git("merge-base", "HEAD", "@{upstream}"))[0];
  return base === lines(await git("rev-parse", "HEAD"))[0] ? undefined : base;
}

function lines(text: string | undefined): readonly string[] {
  return (text ?? "").split("\n").filter((line) => line !== "");
}

/** Returns git's stdout; undefined if git fails, as in a clone of one commit. */
async function git(...args: readonly string[]): Promise<string | undefined> {
  const printed = await new Deno.Command("git", { args: [...args], cwd: TREE, stderr: "null" })
    .output();
  return printed.success ? new TextDecoder().decode(printed.stdout) : undefined;
}
