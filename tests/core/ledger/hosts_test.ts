/**
 * Hosts in the ledger: valid file contents, key changes, and that one bad file hides no other.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseHostShard } from "core/ledger/host_shard.ts";
import { readHosts } from "core/ledger/hosts.ts";
import type { HostName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";

const ATLAS = "atlas" as HostName;
const KEY = "k".repeat(43);
const FILE = "hosts.d/atlas.yaml";
const PLACE = { file: FILE, path: pathsUnder("/r").hostShard("atlas") };

const GOOD: readonly [
  name: string,
  text: string | undefined,
  keys: readonly string[] | undefined,
][] = [
  ["no file", undefined, undefined],
  ["an empty file", "", undefined],
  ["a name alone", "name: atlas\n", undefined],
  ["keys", `name: atlas\ndial_keys: [${KEY}]\n`, [KEY]],
  ["revoked keys", "dial_keys: []\n", []],
];
for (const [name, text, keys] of GOOD) {
  Deno.test(`parseHostShard() reads ${name}`, () => {
    assert.deepEqual(parseHostShard(text, ATLAS, PLACE), {
      ok: true,
      value: { name: ATLAS, dialKeys: keys },
    });
  });
}

const BAD: readonly [name: string, text: string, detail: RegExp][] = [
  ["another host's name", "name: boreas\n", /atlas\.yaml:1: name: is "boreas", must be "atlas"/],
  ["an invalid key", "dial_keys: [short]\n", /must be 43 characters of base64url/],
  ["a word instead of a list", `dial_keys: ${KEY}\n`, /must be a list/],
  ["an unknown key", "colour: red\n", /colour/],
  ["invalid YAML", "name: [\n", /atlas\.yaml:/],
];
for (const [name, text, detail] of BAD) {
  Deno.test(`parseHostShard() refuses ${name}`, () => {
    const parsed = parseHostShard(text, ATLAS, PLACE);
    assert.ok(!parsed.ok);
    assert.equal(parsed.error.code, "host-shard-invalid");
    assert.match(parsed.error.details.join("\n"), detail);
    assert.deepEqual(parsed.error.hints, [`\${EDITOR:-vi} ${PLACE.path} && fleetctl apply`]);
  });
}

Deno.test("readHosts() reads every good file and names every bad one", async () => {
  const { files } = memoryHost();
  const paths = pathsUnder("/r");
  await files.ensureDir(paths.hostsDir);
  await files.write(paths.hostShard("atlas"), `name: atlas\ndial_keys: [${KEY}]\n`);
  await files.write(paths.hostShard("boreas"), "name: atlas\n");
  await files.write(`${paths.hostsDir}/not a host.yaml`, "");
  await files.write(`${paths.hostsDir}/.atlas.yaml.fleetctl-staged`, "[");
  const read = await readHosts(files, paths);
  assert.ok(read.ok);
  assert.deepEqual([...read.value.hosts.keys()], ["atlas"]);
  assert.equal(read.value.faults.length, 2);
});
