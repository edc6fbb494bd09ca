/**
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parseEnvFile, printEnvFile } from "core/text/env_file.ts";

function printed(entries: readonly (readonly [string, string])[]): string {
  const result = printEnvFile(entries);
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

function parsed(text: string): Record<string, string> {
  const result = parseEnvFile(text);
  assert.ok(result.ok, JSON.stringify(result));
  return Object.fromEntries(result.value);
}

Deno.test("printEnvFile() leaves plain values plain and quotes the rest", () => {
  const rows: readonly (readonly [value: string, line: string])[] = [
    ["", "K="],
    ["plain-1.2/x:y@z,%+=_", "K=plain-1.2/x:y@z,%+=_"],
    ["two words", 'K="two words"'],
    [" edges ", 'K=" edges "'],
    ["#not a comment", 'K="#not a comment"'],
    ['say "hi"', 'K="say \\"hi\\""'],
    ["it's", 'K="it\'s"'],
    ["$HOME `id` \\n", 'K="\\$HOME \\`id\\` \\\\n"'],
    ['{"a":["b"]}', 'K="{\\"a\\":[\\"b\\"]}"'],
    ["one\ntwo", 'K="one\ntwo"'],
    ["päss", 'K="päss"'],
  ];
  for (const [value, line] of rows) {
    assert.equal(printed([["K", value]]), `${line}\n`);
    assert.deepEqual(parsed(`${line}\n`), { K: value });
  }
});

Deno.test("printEnvFile() and parseEnvFile() are inverse for every value", () => {
  const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/);
  const nasty = fc.stringMatching(/^["'\\`$#; \t\n\r=a%!]*$/);
  const value = fc.oneof(nasty, fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }))
    .filter((text) => !text.includes("\0") && text.isWellFormed());
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key }),
      (entries) => {
        const result = parseEnvFile(printed(entries));
        assert.ok(result.ok);
        assert.deepEqual([...result.value], entries);
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("printEnvFile() refuses all invalid names and values with env-file-invalid", () => {
  const result = printEnvFile([
    ["GOOD", "1"],
    ["A\nB", "1"],
    ["1A", "1"],
    ["A=B", "1"],
    ["", "1"],
    ["NUL", "a\0b"],
    ["GOOD", "2"],
    ["LONE", "\ud800"],
  ]);
  assert.ok(!result.ok);
  assert.equal(result.error.code, "env-file-invalid");
  assert.deepEqual(result.error.details, [
    '"A\\nB" is not a variable name',
    '"1A" is not a variable name',
    '"A=B" is not a variable name',
    '"" is not a variable name',
    "the value of NUL has a NUL character",
    "GOOD is given twice",
    "the value of LONE is not valid Unicode",
  ]);
});

Deno.test("printEnvFile() never puts a value into its refusal", () => {
  const result = printEnvFile([["NUL", "hunter2\0"]]);
  assert.ok(!result.ok);
  assert.equal(JSON.stringify(result.error).includes("hunter2"), false);
});

Deno.test("parseEnvFile() reads files written by people and by systemd", () => {
  const text = [
    "# comment with = and $",
    "; other comment",
    "",
    "  A = spaced out  ",
    "B='single $HOME \\n'",
    'C="double \\"x\\" \\n"',
    "D='a b'\"c d\" e",
    'Q=it\'s "fine"',
    "E=back\\ slash\\",
    "joined",
    "F=a # not a comment",
    "A=again",
    "WINDOWS=yes\r",
  ].join("\n");
  assert.deepEqual(parsed(text), {
    A: "again",
    B: "single $HOME \\n",
    C: 'double "x" \\n',
    D: "a bc de",
    Q: 'it\'s "fine"',
    E: "back slashjoined",
    F: "a # not a comment",
    WINDOWS: "yes",
  });
});

Deno.test("parseEnvFile() refuses invalid lines by number, with env-file-invalid", () => {
  const result = parseEnvFile("A=1\nnonsense\n2B=1\n# bad \\\nC='open\n");
  assert.ok(!result.ok);
  assert.equal(result.error.code, "env-file-invalid");
  assert.deepEqual(result.error.details, [
    'line 2: no "=" in the line, must be NAME=value',
    'line 3: "2B" is not a variable name',
    "line 4: the comment ends with a backslash",
    "line 5: a quote is not closed",
  ]);
});
