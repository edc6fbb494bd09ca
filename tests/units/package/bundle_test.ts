/**
 * What a shipped bundle may contain.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  bundleFaults,
  graphFaults,
  withLightRequire,
  withOneByteText,
} from "units/package/bundle.ts";

const CLEAN = `import { x } from "./chunk-A.js";
const later = () => import("./verb-B.js");
const twoLines = () => import(
  "./verb-C.js"
);
var fs = __require("node:fs");
try { __require("bufferutil"); } catch {}
// an inline \`import()\` in a comment
object.import(name);
`;

const FAULTS: readonly (readonly [string, string, RegExp])[] = [
  ["a native addon", `load("./build/Release/pty.node")`, /omitted: .*pty\.node/],
  ["a WebAssembly file", "fetch(new URL('x.wasm', import.meta.url))", /omitted: x\.wasm/],
  ["a package by require", `__require("left-pad")`, /requires left-pad/],
  ["a computed import", "const m = await import(name);", /a computed import: import\(name/],
  [
    "a require that is not the known one",
    "import { createRequire as __deno_internal_createRequire } from 'node:module'",
    /require is not the known one/,
  ],
];

Deno.test("bundleFaults() accepts a bundle that loads only its own files", () => {
  assert.deepEqual(bundleFaults(new Map([["main.js", CLEAN]])), []);
});

for (const [name, text, wanted] of FAULTS) {
  Deno.test(`bundleFaults() names ${name}`, () => {
    const faults = bundleFaults(new Map([["main.js", `${CLEAN}${text}\n`]]));
    assert.equal(faults.length, 1, faults.join("\n"));
    assert.match(faults[0] ?? "", wanted);
  });
}

Deno.test("withOneByteText() leaves only characters of one byte, with the same meaning", () => {
  const code = 'return /[… 𝑛]/u.test("…") && `≤ é 𝑛` === "≤ é 𝑛" // → 𝑛';
  const text = withOneByteText(code);
  assert.doesNotMatch(text, /[^\0-\xff]/);
  assert.match(text, /é/);
  assert.equal(new Function(text)(), true);
});

Deno.test("graphFaults() names what a bundle loads from elsewhere", () => {
  const module = (specifier: string, more = {}) => ({ specifier, ...more });
  const info = (...modules: readonly object[]) => JSON.stringify({ modules });
  const own = module("file:///o%20ut/main.js", { dependencies: [{ specifier: "./a.js" }] });
  assert.deepEqual(graphFaults(info(own, module("node:fs")), "/o ut"), []);
  assert.deepEqual(graphFaults(info(own, module("file:///elsewhere/a.js")), "/o ut"), [
    "loads file:///elsewhere/a.js",
  ]);
  const bare = module("file:///out/main.js", { dependencies: [{ specifier: "npm:zod@4" }] });
  assert.deepEqual(graphFaults(info(bare), "/out"), ["imports npm:zod@4"]);
  const absent = module("file:///out/a.js", { error: "Module not found" });
  assert.deepEqual(graphFaults(info(absent), "/out"), [
    "file:///out/a.js: Module not found",
  ]);
});

Deno.test("withLightRequire() gives built-in modules and refuses others as Node does", async () => {
  const heavy = `import { createRequire as __deno_internal_createRequire } from "node:module";
var __require = __deno_internal_createRequire(import.meta.url);
`;
  const light = withLightRequire(`${heavy}export { __require };\n`);
  assert.ok(!light.includes("createRequire"));
  const { __require } = await import(`data:text/javascript,${encodeURIComponent(light)}`);
  assert.equal(__require("node:path").basename("/a/b"), "b");
  assert.throws(() => __require("bufferutil"), { code: "MODULE_NOT_FOUND" });
});
