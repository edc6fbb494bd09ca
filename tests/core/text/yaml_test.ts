/**
 * YAML with line numbers, size limits, and edits that preserve the author's text.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { editYaml, parseYaml, printYaml, YAML_BYTES_MAX } from "core/text/yaml.ts";

const SHARD = `# The agent of the front desk
name: ada
channel: webview   # where she is talked to

tools:
  add: [git, notes]    # by hand
  remove:
  - browser

# last words
created: "2026-01-01"
`;

function edited(text: string, edit: Parameters<typeof editYaml>[1]): string {
  const result = editYaml(text, edit, "ada.yaml");
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

Deno.test("editYaml() returns the same text when nothing changes", () => {
  assert.equal(
    edited(SHARD, (editor) => {
      editor.addToList(["tools", "add"], "git");
      editor.removeFromList(["tools", "remove"], "absent");
      editor.remove(["nothing", "here"]);
      editor.set(["name"], "ada");
    }),
    SHARD,
  );
});

Deno.test("editYaml() keeps comments, order, indent and brackets around an edit", () => {
  assert.equal(
    edited(SHARD, (editor) => editor.addToList(["tools", "add"], "maps")),
    SHARD.replace("[git, notes]    # by hand", "[git, notes, maps] # by hand").replace(
      "webview   #",
      "webview #",
    ),
  );
});

Deno.test("editYaml() fills an empty file in block style", () => {
  for (const text of ["", "{}\n"]) {
    const edited = editYaml(text, (editor) => editor.set(["a"], "b"));
    assert.deepEqual(edited, { ok: true, value: "a: b\n" }, text);
  }
});

Deno.test("editYaml() makes the parents of a new value", () => {
  const text = edited("name: ada\ntools:\n", (editor) => {
    editor.addToList(["tools", "add"], "git");
    editor.set(["dial", "keys"], ["a"]);
  });
  const parsed = parseYaml(text, "x");
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.value.value, {
    name: "ada",
    tools: { add: ["git"] },
    dial: { keys: ["a"] },
  });
  assert.equal(edited("", (editor) => editor.set(["a"], 1)), "a: 1\n");
});

Deno.test("adding and removing a value with editYaml() leaves the data unchanged", () => {
  fc.assert(fc.property(
    fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { maxLength: 6 }),
    fc.stringMatching(/^[A-Z]{1,6}$/),
    (names, extra) => {
      const text = printYaml({ tools: { add: names } });
      const added = edited(text, (editor) => editor.addToList(["tools", "add"], extra));
      const removed = edited(added, (editor) => editor.removeFromList(["tools", "add"], extra));
      const parsed = parseYaml(removed, "x");
      assert.ok(parsed.ok);
      assert.deepEqual(parsed.value.value, { tools: { add: names } });
    },
  ));
});

Deno.test("parseYaml() knows the line of every key and item", () => {
  const parsed = parseYaml(SHARD, "ada.yaml");
  assert.ok(parsed.ok);
  for (
    const [path, line] of [
      [["name"], 2],
      [["channel"], 3],
      [["tools", "add"], 6],
      [["tools", "add", 1], 6],
      [["tools", "remove", 0], 8],
      [["tools", "absent"], 5],
      [["absent"], 1],
    ] as const
  ) {
    assert.equal(parsed.value.lineOf(path), line, path.join("."));
  }
});

Deno.test("parseYaml() refuses YAML features that no config file needs", () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n` +
    `c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n`;
  for (
    const [name, text, code] of [
      ["a syntax fault", "a: [1\nb: 2\n", "yaml-invalid"],
      ["a key twice", "a: 1\na: 2\n", "yaml-invalid"],
      ["several documents", "a: 1\n---\nb: 2\n", "yaml-invalid"],
      ["an alias bomb", bomb, "yaml-invalid"],
      ["endless nesting", "[".repeat(100_000), "yaml-invalid"],
      ["too much", `a: ${"x".repeat(YAML_BYTES_MAX)}`, "yaml-too-large"],
      ["an unknown alias", "a: *nope\n", "yaml-invalid"],
    ] as const
  ) {
    const parsed = parseYaml(text, "x.yaml");
    assert.ok(!parsed.ok && parsed.error.code === code, name);
  }
  const fault = parseYaml("a: 1\nb: [\n", "x.yaml");
  assert.ok(!fault.ok && /^x\.yaml:[23]: /.test(fault.error.details[0] ?? ""));
});

Deno.test("parseYaml() reads yes, no and numbers as YAML 1.2 does, not as 1.1", () => {
  const parsed = parseYaml("a: yes\nb: no\nc: 010\nd: 1.10\ne: 2026-01-01\n", "x");
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.value.value, { a: "yes", b: "no", c: 10, d: 1.1, e: "2026-01-01" });
});
