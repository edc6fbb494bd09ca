/**
 * What a purge leaves: a copy that the recovery key opens on another host. Without that key, it
 * first states how many secrets it deletes for good.
 *
 * @module
 */

import assert from "node:assert/strict";
import { bootHost } from "tests/support/booted_host.ts";
import { copyInto, installPackage, PackagedHost } from "tests/support/packaged_host.ts";

/** The result of a purge, and the key that opens it. */
export interface Purged {
  /** Path of the copy on this machine. */
  readonly copy: string;
  readonly recoveryKey: string;
}

/** Purges a fleet with a recovery key; only root can read the copy. */
export async function purgeWithCopy(scene: PackagedHost): Promise<Purged> {
  const recoveryKey = await scene.must("fleetctl", "secret", "recovery", "add");
  await scene.must("fleetctl", "secret", "set", "KEPT", "--value", "as it was", "--agent", "ada");
  const purged = await scene.run(["dpkg", "-P", "fleetctl"]);
  assert.equal(purged.code, 0, purged.err);
  assert.equal(purged.err, "", "nothing is lost, so nothing is warned of");
  const path = /^fleetctl: (\/var\/backups\/\S+\.age) is a copy/m.exec(purged.out)?.[1] ?? "";
  assert.equal(await scene.modeOf(path), "600 root:root");
  const text = await scene.host.read(path);
  assert.match(text, /^-----BEGIN AGE ENCRYPTED FILE-----/);
  return { copy: `${scene.host.root}${path}`, recoveryKey };
}

/** Another host states what a purge without a recovery key costs, and then restores the copy. */
export async function checkRestored(out: string, { copy, recoveryKey }: Purged): Promise<void> {
  const host = await bootHost({ name: "boreas", target: "multi-user.target" });
  const scene = new PackagedHost(host);
  try {
    await installPackage(host, out);
    await scene.must("fleetctl", "secret", "set", "LOST", "--value", "soon gone");
    const purged = await scene.run(["dpkg", "-P", "fleetctl"]);
    assert.equal(purged.code, 0, purged.err);
    assert.match(purged.err, /^fleetctl: deleting 5 secrets for good: there is no recovery key$/m);
    await installPackage(host, out);
    await copyInto(host, copy, "/root/fleet");
    const recover = ["sh", "-c", "fleetctl secret recover --key - --copy /root/fleet/*.age"];
    const foreign = "AGE-SECRET-KEY-1" + "Q".repeat(58);
    assert.notEqual((await scene.run(recover, { input: foreign })).code, 0);
    const restored = await scene.run(recover, { input: recoveryKey });
    assert.equal(restored.code, 0, restored.err);
    assert.match(restored.out, /^restored {2}2 agents and \d+ secrets of host "solo"/m);
    await scene.must("fleetctl", "apply");
    const kept = await scene.must("fleetctl", "secret", "get", "KEPT", "--agent", "ada");
    assert.equal(kept, "as it was\n");
    assert.match(await scene.host.read("/etc/fleetctl/roles.yaml"), /^gateway:$/m);
    const again = await scene.run(recover, { input: recoveryKey });
    assert.match(again.err, /this host already has 2 agents and \d+ secrets, must have none/);
  } finally {
    await host.stop();
  }
}
