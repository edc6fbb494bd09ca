/**
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { printExec, printShell, quoteAssignment, quoteExec, quoteShell } from "core/text/quote.ts";

Deno.test("quoteShell() leaves safe words and quotes the others", () => {
  assert.equal(quoteShell("pkg@1.2.3"), "pkg@1.2.3");
  assert.equal(quoteShell("<value>"), "'<value>'");
  assert.equal(quoteShell("it's"), "'it'\\''s'");
  assert.equal(quoteShell(""), "''");
  assert.equal(quoteShell("~root"), "'~root'");
  assert.equal(printShell(["echo", "a b", "c"]), "echo 'a b' c");
});

Deno.test("a real shell reads back what printShell() printed", async () => {
  const word = fc.stringMatching(/^[a '"\\$`!*?~#;&|<>(){}\n\t=-]*$/);
  const rows = fc.sample(fc.array(word, { minLength: 1, maxLength: 5 }), { numRuns: 100, seed: 3 });
  const script = rows.map((words) => `printf '%s\\0' ${printShell(words)}`).join("\n");
  const { stdout } = await new Deno.Command("/bin/sh", { args: ["-c", script] }).output();
  const got = new TextDecoder().decode(stdout).split("\0").slice(0, -1);
  assert.deepEqual(got, rows.flat());
});

Deno.test("quoteExec() stops specifiers and variables from being expanded", () => {
  const rows: readonly (readonly [given: string, want: string])[] = [
    ["/usr/lib/fleetctl/fleetctl", "/usr/lib/fleetctl/fleetctl"],
    ["100%", "100%%"],
    ["$HOME", "$$HOME"],
    ["a b", '"a b"'],
    ["", '""'],
    [";", '";"'],
    ['say "hi"', '"say \\"hi\\""'],
    ["back\\slash", '"back\\\\slash"'],
    ["tab\there", '"tab\\there"'],
    ["it's", '"it\'s"'],
    ["%n $x", '"%%n $$x"'],
  ];
  for (const [given, want] of rows) assert.equal(quoteExec(given), want);
  assert.equal(printExec("/bin/echo", ["a b", "$x"]), '/bin/echo "a b" $$x');
  assert.equal(printExec("/srv/a $b/100%/run", []), '"/srv/a $b/100%%/run"');
  assert.throws(() => printExec("-/bin/echo", []), /not absolute/);
});

Deno.test("quoteExec() throws for text that no unit file can contain", () => {
  for (const word of ["a\nb", "a\rb", "a\0b"]) {
    assert.throws(() => quoteExec(word), RangeError);
    if (!word.includes("\n")) assert.throws(() => quoteAssignment("A", word), RangeError);
    assert.throws(() => printExec(`/bin/${word}`, []), RangeError);
  }
});

Deno.test("quoteAssignment() escapes specifiers and leaves dollars", () => {
  assert.equal(quoteAssignment("A", "plain"), "A=plain");
  assert.equal(quoteAssignment("A", "50% of $x"), '"A=50%% of $x"');
  assert.equal(quoteAssignment("A", 'a"b'), '"A=a\\"b"');
  assert.equal(quoteAssignment("A", "a\n\n50%\tb\\n\n"), '"A=a\\n\\n50%%\\tb\\\\n\\n"');
});
