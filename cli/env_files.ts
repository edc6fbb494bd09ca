/**
 * Updates the rendered env files of one shard after a secret changed. It uses the renderer of a
 * reconcile, so the next one finds the files unchanged. It creates no file: a host on which `apply`
 * has never run has none yet.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { defined } from "core/defined.ts";
import type { FileOwner, RenderedFile } from "core/files/rendered_file.ts";
import type { Facts } from "units/reconcile/facts.ts";

/** Rewrites those of `wanted` that exist and differ. Returns their paths. */
export async function refreshEnvFiles(
  context: VerbContext,
  facts: Facts,
  wanted: readonly string[],
): Promise<readonly string[]> {
  const { files } = context.ports;
  const written: string[] = [];
  for (const file of facts.env) {
    if (!wanted.includes(file.path)) continue;
    const current = await files.readText(file.path);
    if (current === undefined || current === file.content) continue;
    await files.write(file.path, file.content, {
      mode: file.mode,
      ...(facts.rootless ? {} : await ownerIds(context, file)),
    });
    written.push(file.path);
  }
  return written;
}

async function ownerIds(context: VerbContext, { owner }: RenderedFile) {
  const { uid, gid } = await idsOf(context, owner);
  return defined({ uid, gid });
}

async function idsOf(context: VerbContext, owner: FileOwner) {
  const { users } = context.ports;
  return { uid: (await users.byName(owner.user))?.uid, gid: await users.groupId(owner.group) };
}
