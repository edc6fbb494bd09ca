/**
 * @module
 */

import assert from "node:assert/strict";
import { parseYaml } from "core/text/yaml.ts";
import {
  type CachedYaml,
  closeYamlCache,
  openYamlCache,
  parseCachedYaml,
} from "core/text/yaml_cache.ts";

const TEXT = "name: ada\n# a comment\ntools:\n  add: [git]\n";

/** Runs `work` with these kept entries; returns the entries kept afterwards. */
function keep(entries: readonly CachedYaml[], work: () => void): readonly CachedYaml[] | undefined {
  openYamlCache(entries);
  try {
    work();
  } finally {
    entries = closeYamlCache() ?? [];
  }
  return entries;
}

const valueOf = (text: string) => {
  const parsed = parseCachedYaml(text, "x.yaml");
  assert.ok(parsed.ok);
  return parsed.value.value;
};

Deno.test("parseCachedYaml() caches a value and its text, and still reports lines", () => {
  const kept = keep([], () => valueOf(TEXT));
  assert.deepEqual(kept, [[TEXT, { name: "ada", tools: { add: ["git"] } }]]);
  openYamlCache(JSON.parse(JSON.stringify(kept)) as readonly CachedYaml[]);
  const [again, fresh] = [parseCachedYaml(TEXT, "x.yaml"), parseYaml(TEXT, "x.yaml")];
  assert.ok(again.ok && fresh.ok);
  assert.deepEqual(again.value.value, fresh.value.value);
  for (const path of [["name"], ["tools", "add", 0], ["none"]]) {
    assert.equal(again.value.lineOf(path), fresh.value.lineOf(path), path.join("."));
  }
  assert.equal(closeYamlCache(), undefined, "nothing new was parsed");
});

Deno.test("parseCachedYaml() returns a cached value, a copy for each caller", () => {
  openYamlCache([[TEXT, { name: "kept" }]]);
  const first = valueOf(TEXT) as { name: string };
  first.name = "changed";
  assert.deepEqual(valueOf(TEXT), { name: "kept" });
  assert.deepEqual(valueOf(TEXT.replace("ada", "bob")), { name: "bob", tools: { add: ["git"] } });
  closeYamlCache();
});

Deno.test("parseCachedYaml() caches no faulty text and no value that JSON would change", () => {
  for (const text of ["a: [", "a: .nan", "a: .inf", "a: -0.0", "__proto__: {a: 1}"]) {
    assert.deepEqual(keep([], () => void parseCachedYaml(text, "x.yaml")), [], text);
  }
  assert.deepEqual(valueOf(TEXT), { name: "ada", tools: { add: ["git"] } }, "closed: parsed");
});

Deno.test("closeYamlCache() drops texts that have not been used for long", () => {
  const old = Array.from(
    { length: 1_500 },
    (_, index): CachedYaml => [`a: ${index}`, { a: index }],
  );
  const kept = keep(old, () => {
    valueOf("a: 3");
    valueOf("a: new");
  });
  assert.equal(kept?.length, 1_002);
  assert.ok(kept?.some(([text]) => text === "a: 3") && kept.some(([text]) => text === "a: new"));
});
