/** Command lines, assignments and variables as systemd reads them. @module */

import assert from "node:assert/strict";
import fc from "fast-check";
import { expandVariables, readAssignments, readExecLine } from "units/manager/units/exec_line.ts";
import { unescapeInstance } from "units/manager/units/words.ts";
import { printCommand } from "units/render/exec_line.ts";

const SPECIFIERS = new Map([["i", "3-77-1000"], ["n", "x@3-77-1000.service"]]);

const LINES: readonly {
  readonly line: string;
  readonly want: readonly string[] | string;
}[] = [
  { line: "/bin/a", want: ["/bin/a"] },
  { line: "/bin/a  b\tc ", want: ["/bin/a", "b", "c"] },
  { line: `/bin/a "b c" 'd "e'`, want: ["/bin/a", "b c", 'd "e'] },
  { line: `/bin/a "" ''`, want: ["/bin/a", "", ""] },
  {
    line: String.raw`/bin/a b\x20c "d\te" \s \101 \u00e9`,
    want: ["/bin/a", "b c", "d\te", " ", "A", "é"],
  },
  { line: String.raw`/bin/a \; b`, want: ["/bin/a", ";", "b"] },
  { line: "/bin/a %i %% %n", want: ["/bin/a", "3-77-1000", "%", "x@3-77-1000.service"] },
  { line: "-/bin/a b", want: ["/bin/a", "b"] },
  { line: "/bin/a b;c", want: ["/bin/a", "b;c"] },
  { line: "/bin/a ; /bin/b", want: "several commands in one line are not supported" },
  { line: "", want: "the command is empty" },
  { line: "a b", want: 'the program "a" must be an absolute path' },
  { line: "+/bin/a", want: 'prefix "+": full privileges are not supported' },
  { line: "!/bin/a", want: 'prefix "!": changing privileges is not supported' },
  { line: "@/bin/a a", want: 'prefix "@": another argv[0] is not supported' },
  { line: ":/bin/a", want: 'prefix ":": switching variables off is not supported' },
  { line: "|/bin/a", want: 'prefix "|": running through a shell is not supported' },
  { line: '/bin/a "b', want: "a quote is not closed" },
  { line: '/bin/a "b"c', want: "a closing quote must end a word" },
  { line: '/bin/a b"c"', want: "a quote must begin a word" },
  { line: "/bin/a b\\", want: "a backslash ends the value" },
  { line: String.raw`/bin/a \q`, want: '"\\q" is not an escape' },
  { line: String.raw`/bin/a \x0`, want: '"\\x" is not an escape' },
  { line: String.raw`/bin/a \000`, want: '"\\0000" is not a character' },
  { line: "/bin/a %q", want: 'the specifier "%q" is not supported' },
  { line: "/bin/a 50%", want: 'a "%" ends the value, write "%%"' },
];

Deno.test("readExecLine() accepts what systemd accepts, and refuses the rest with a reason", () => {
  for (const { line, want } of LINES) {
    const read = readExecLine(line, SPECIFIERS);
    const got = read.ok ? [read.value.program, ...read.value.args] : read.error;
    assert.deepEqual(got, want, line);
  }
  const may = readExecLine("-/bin/a", SPECIFIERS);
  assert(may.ok && may.value.mayFail);
});

Deno.test("readExecLine() returns every word that a renderer has printed", () => {
  fc.assert(fc.property(
    fc.array(fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", ""))),
    (words) => {
      const read = readExecLine(printCommand(["/bin/a", ...words]), SPECIFIERS);
      assert(read.ok, JSON.stringify(read));
      assert.deepEqual(expandVariables(read.value.args, {}), words);
    },
  ));
});

const VARIABLES: readonly { readonly arg: string; readonly want: readonly string[] }[] = [
  { arg: "$A", want: ["one", "two"] },
  { arg: "${A}", want: ["one two"] },
  { arg: "x${A}y", want: ["xone twoy"] },
  { arg: "$NONE", want: [] },
  { arg: "${NONE}", want: [""] },
  { arg: "$$A", want: ["$A"] },
  { arg: "$$$$", want: ["$$"] },
  { arg: "a$A", want: ["a$A"] },
];

Deno.test("expandVariables() fills in words and parts of words", () => {
  for (const { arg, want } of VARIABLES) {
    assert.deepEqual(expandVariables([arg], { A: "one two" }), want, arg);
  }
});

Deno.test("readAssignments() splits words and never shows a value in a fault", () => {
  assert.deepEqual(readAssignments(`A=1 "B=x y" C= D=a=b`, SPECIFIERS), {
    ok: true,
    value: [["A", "1"], ["B", "x y"], ["C", ""], ["D", "a=b"]],
  });
  for (const line of ["secretvalue", "=secretvalue", "A-B=secretvalue", "1A=secretvalue"]) {
    const read = readAssignments(line, SPECIFIERS);
    assert(!read.ok);
    assert.equal(read.error, "each word must have the form NAME=value");
  }
});

Deno.test("unescapeInstance() undoes the escaping of paths", () => {
  assert.equal(unescapeInstance(String.raw`run-mcp-a\x2db`), "run/mcp/a-b");
});
