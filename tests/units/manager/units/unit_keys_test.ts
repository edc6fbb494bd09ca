/**
 * The unit parser understands every key and value in the units that the renderers print.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseUnit } from "core/text/unit_file.ts";
import { createUnitReader } from "units/manager/units/unit_reader.ts";
import { readUnitSpec } from "units/manager/units/unit_spec.ts";
import { TREE } from "tests/support/module_graph.ts";

const PLACES = { at: (path: string) => path, credentials: (unit: string) => `/c/${unit}` };
const GOLDEN = `${TREE}/tests/golden/units`;

/** Returns the unit files in the renderers' golden files: `==== /etc/systemd/system/<name> …`. */
async function goldenUnits(): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const units: { name: string; text: string }[] = [];
  for await (const entry of Deno.readDir(GOLDEN)) {
    const parts = (await Deno.readTextFile(`${GOLDEN}/${entry.name}`)).split(/^==== /m).slice(1);
    for (const part of parts) {
      const [, name] = /^\S*\/etc\/systemd\/system\/(\S+\.(?:service|socket))/.exec(part) ?? [];
      if (name !== undefined) units.push({ name, text: part.slice(part.indexOf("\n") + 1) });
    }
  }
  return units;
}

Deno.test("readUnitSpec() understands every unit that is rendered", async () => {
  const units = await goldenUnits();
  assert(units.length >= 8, `${units.length} units found`);
  for (const { name, text } of units) {
    const unit = parseUnit(name, text);
    assert(unit.ok, name);
    assert.deepEqual(createUnitReader(unit.value).faults, []);
    const spec = readUnitSpec(unit.value, name.replace("@.", "@0-1-2."), PLACES);
    assert(spec.ok, `${name}: ${spec.ok ? "" : spec.error.join("; ")}`);
  }
});
