/**
 * Checks the structure of the tree. Each law is a test with its reason (HACKING.md, "Laws"). The
 * lint plugin enforces law 3 (who may touch the machine); this file checks it for gaps. The types
 * of `core/verbs/verb.ts` and `gateway/cockpit/route.ts` enforce law 6.
 *
 * @module
 */

import assert from "node:assert/strict";
import { VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";
import { type Edge, reachedFrom, readGraph, TREE, treeFiles } from "tests/support/module_graph.ts";
import { errorsPage } from "tests/support/errors_page.ts";
import { type PreparationName, PREPARED_FOR, TEST_GROUPS } from "tests/support/test_groups.ts";
import { THIRD_PARTY } from "tests/support/third_party.ts";

const ROLES = ["cli", "gateway", "login", "teamchat"] as const;
/**
 * Areas of core from left to right. Each imports only areas to its left. The first two are peers.
 */
const AREAS = [
  "catalog ledger",
  "access",
  "secrets",
  "runtimes",
  "risk",
  "codemode",
  "connections",
  "verbs",
  "dial",
  "teamchat",
  "cron",
  "fleet",
] as const;
/** Areas that decide about the fleet. They stay in core even when only one program uses them. */
const FLEET = ["access", "catalog", "ledger", "risk", "secrets", "verbs"] as const;

const sources = (await treeFiles(".ts", ".tsx")).filter((file) =>
  !file.startsWith("tests/golden/")
);
const mains = sources.filter((file) => file.endsWith("/main.ts") && !file.startsWith("tests/"));
const tests = sources.filter((file) => file.startsWith("tests/"));
const testEntries = tests.filter((file) => file.endsWith("_test.ts") || isMain(file));
// One graph for all laws: reading it takes longer than checking them.
const graph = await readGraph([...mains, ...testEntries]);
const program = reachedFrom(graph, mains);

function top(file: string): string {
  return file.split("/")[0] ?? "";
}
function isMain(file: string): boolean {
  return file.endsWith("/main.ts");
}
/** Files in a folder named `os`, anywhere in the tree, touch the machine. */
function isAdapter(file: string): boolean {
  return /(^|\/)os\//.test(file);
}
/** The vocabulary: files directly in `core/`, and in folders of core that are not areas. */
function isLeaf(file: string): boolean {
  const [first, folder = "", rest] = file.split("/");
  return first === "core" && !isAdapter(file) &&
    (rest === undefined || !AREAS.some((area) => area.split(" ").includes(folder)));
}
/** A role with all its binaries, or one program of units. */
function programOf(main: string): string {
  return main.split("/").slice(0, main.startsWith("units/") ? 2 : 1).join("/");
}
function offenders(breaks: (edge: Edge) => boolean): readonly string[] {
  return program.edges.filter(breaks).map((edge) => `${edge.from} imports ${edge.to}`);
}
function none(found: readonly string[], why: string): void {
  assert.deepEqual(found, [], `${why}\n  ${found.join("\n  ")}`);
}

Deno.test("law 1: roles never import one another", () => {
  none(
    offenders(({ from, to }) => {
      const [a, b] = [top(from), top(to)];
      return a !== b && ROLES.some((role) => role === a) && ROLES.some((role) => role === b);
    }),
    "A role is one binary with one permission set: what two roles share moves down to core/.",
  );
});

Deno.test("law 2: core imports neither units nor a role, and units no role", () => {
  none(
    offenders(({ from, to }) => {
      const isUp = ROLES.some((role) => role === top(to));
      return (top(from) === "core" && (isUp || top(to) === "units")) ||
        (top(from) === "units" && isUp);
    }),
    "Data flows one way: decisions know nothing of who asks for them.",
  );
});

Deno.test("law 2a: only composition roots import the adapters in folders named os", () => {
  none(
    offenders(({ from, to }) => isAdapter(to) && !isAdapter(from) && !isMain(from)),
    "Everything else takes a port as a parameter, so that it runs against a fake.",
  );
});

Deno.test("law 2b: an area of core imports only the areas to its left", () => {
  none(
    offenders(({ from, to }) => {
      const [a, b] = [from, to].map((file) =>
        file.startsWith("core/")
          ? AREAS.findIndex((area) => area.split(" ").includes(file.split("/")[1] ?? ""))
          : -1
      );
      return a !== undefined && b !== undefined && a >= 0 && b > a;
    }),
    `A reader can stop at the left: ${AREAS.join(" → ")}.`,
  );
});

Deno.test("law 2c: a leaf of core imports only leaves", () => {
  none(
    offenders(({ from, to }) => isLeaf(from) && to.startsWith("core/") && !isLeaf(to)),
    "The vocabulary stands by itself.",
  );
});

Deno.test("law 2d: of units, cli imports what renders, reconciles, manages; others nothing", () => {
  none(
    offenders(({ from, to }) =>
      ROLES.some((role) => role === top(from)) && top(to) === "units" &&
      !(top(from) === "cli" && /^units\/(render|reconcile|manager)\//.test(to))
    ),
    "The programs of units/ are started, not imported.",
  );
});

Deno.test("law 2e: core holds what two programs need, and the decisions about the fleet", () => {
  const users = Map.groupBy(
    mains.flatMap((main) =>
      [...reachedFrom(graph, [main]).files].map((file) => ({ file, program: programOf(main) }))
    ),
    ({ file }) => file,
  );
  const alone: string[] = [];
  for (const [file, uses] of users) {
    if (!file.startsWith("core/") || FLEET.some((area) => file.startsWith(`core/${area}/`))) {
      continue;
    }
    const programs = [...new Set(uses.map(({ program }) => program))];
    if (programs.length < 2) alone.push(`${file} is needed by ${programs} alone`);
  }
  none(alone, "What one program needs lives with that program.");
});

Deno.test("law 2f: few files are directly in core", () => {
  const direct = sources.filter((file) => /^core\/[^/]+$/.test(file));
  assert.ok(direct.length < 15, `A leaf has a folder named by its subject: ${direct.join(", ")}`);
});

Deno.test("law 3: the lint rules find what they must find", async () => {
  const plugin = (await import("tests/support/lint_plugin.ts")).default;
  const rows: readonly [string, string, number][] = [
    ["core/ledger/x.ts", "export const a = Deno.pid;", 1],
    ["core/ledger/x.ts", "export const a = Date.now();", 1],
    ["core/ledger/x.ts", "export const a = Math.random();", 1],
    ["core/ledger/x.ts", 'export const a = fetch("http://localhost");', 1],
    ["core/ledger/x.ts", "setTimeout(() => {}, 1);", 1],
    ["core/ledger/x.ts", 'import "node:fs";', 1],
    ["core/ledger/x.ts", "export const a = (http: { fetch(): void }) => http.fetch();", 0],
    ["core/ledger/x.ts", "export const a = new Date();", 1],
    ["core/ledger/x.ts", "export const a = new Date;", 1],
    ["core/ledger/x.ts", "export const a = Date();", 1],
    ["core/ledger/x.ts", "export const a = (ms: number) => new Date(ms);", 0],
    ["core/ledger/x.ts", "export const a = Temporal.Now.instant();", 1],
    ["core/ledger/x.ts", "export const a = performance.now();", 1],
    ["core/ledger/x.ts", 'export const a = performance["now"]();', 1],
    ["core/ledger/x.ts", "export const a = crypto.randomUUID();", 1],
    ["core/ledger/x.ts", "export const a = crypto.getRandomValues(new Uint8Array(1));", 1],
    ["core/ledger/x.ts", 'export const a = crypto.subtle.digest("SHA-256", new Uint8Array());', 0],
    ["core/ledger/x.ts", "export const a = AbortSignal.timeout(1);", 1],
    ["core/ledger/x.ts", "export const a = AbortSignal.abort();", 0],
    ["core/ledger/x.ts", "export const a = globalThis.fetch;", 1],
    ["core/ledger/x.ts", "globalThis.setTimeout(() => {}, 1);", 1],
    ["core/ledger/x.ts", 'export const a = globalThis["Deno"];', 1],
    ["core/ledger/x.ts", "export const { fetch: a } = globalThis;", 1],
    ["core/ledger/x.ts", "export const a = { globalThis: 1 };", 0],
    ["core/ledger/x.ts", "setInterval(() => {}, 1);", 1],
    ["core/ledger/x.ts", "setImmediate(() => {});", 1],
    ["core/ledger/x.ts", 'export const a = new WebSocket("ws://localhost");', 1],
    ["core/ledger/x.ts", "export const a = (): WebSocket | undefined => undefined;", 0],
    ["core/ledger/x.ts", 'export const a = new Worker("./x.ts");', 1],
    ["core/ledger/x.ts", 'export const a = new EventSource("http://localhost");', 1],
    ["core/ledger/x.ts", 'export const a = import("node:fs");', 1],
    ["core/ledger/x.ts", "export const a = import(`node:fs`);", 1],
    ["core/ledger/x.ts", 'export { readFile } from "node:fs/promises";', 1],
    ["core/ledger/x.ts", 'export * from "node:fs";', 1],
    ["core/ledger/x.ts", 'export { readFile } from "core/x.ts";', 0],
    ["core/os/x.ts", "export const a = Date.now();", 0],
    ["login/http1/os/x.ts", "export const a = Date.now();", 0],
    ["login/http1/osx/x.ts", "export const a = Date.now();", 1],
    ["gateway/main.ts", "export const a = Deno.pid;", 0],
    ["cli/parse.ts", 'import "node:util";', 1],
    ["core/ledger/x.ts", "// TODO later", 1],
    ["core/ledger/x.ts", "// TODO(#12): later", 0],
    ["core/x.ts", "export const a = (x?: 1) => ({ ...(x === undefined ? {} : { x }) });", 1],
    ["core/x.ts", "export const a = (x?: 1) => ({ ...(x !== undefined ? { y: x } : {}) });", 1],
    ["core/x.ts", "export const a = (x?: P) => ({ ...(x === undefined ? {} : { y: x.y }) });", 1],
    ["core/x.ts", "export const a = (x?: 1) => ({ ...(x === undefined ? {} : { y: [x] }) });", 0],
    ["core/x.ts", "export const a = (x: 1 | null) => ({ ...(x === null ? {} : { x }) });", 0],
    ["core/x.ts", "export const a = { ...{ b: 1, c: 2 }, d: 3 };", 1],
    ["core/x.ts", "export const a = [...[1, 2], 3];", 1],
    ["core/x.ts", "export const a = Math.max(...[1, 2], 3);", 1],
    ["core/x.ts", "export const a = (b: number[]) => [...b, ...(b[0] ? [1] : [])];", 0],
    ["cli/x.ts", "export const a = (response: Response) => response.json();", 1],
    ["gateway/x.ts", "export const a = (request: Request) => request.text();", 1],
    ["gateway/web/x.ts", "export const a = (response: Response) => response.text();", 0],
    ["cli/x.ts", "export const a = (response: { text(b: 1): void }) => response.text(1);", 0],
  ];
  for (const [file, code, wanted] of rows) {
    const found = Deno.lint.runPlugin(
      plugin,
      `${TREE}${file}`,
      `/** Fixture.\n * @module\n */\n${code}\n`,
    );
    assert.equal(found.length, wanted, `${file}: ${code}: ${found.map((d) => d.message)}`);
  }
});

Deno.test("law 4: each third-party package is imported by the files named for it", () => {
  none(
    graph.edges.filter(({ from, to }) => {
      if (!to.startsWith("npm:")) return false;
      const name = to.slice("npm:".length);
      const allowed = THIRD_PARTY[name];
      return allowed === undefined || !allowed.some((pattern) => pattern.test(from));
    }).map(({ from, to }) => `${from} imports ${to}`),
    "A dependency sits behind the few files named in docs/dependencies.md, so that it can be " +
      "replaced.",
  );
});

Deno.test("law 4a: every package of deno.json is pinned, described and imported", async () => {
  const described = await Deno.readTextFile(`${TREE}docs/dependencies.md`);
  for (const [file, folder] of [["deno.json", ""], ["tests/bench/deno.json", "tests/bench/"]]) {
    const { imports } = JSON.parse(await Deno.readTextFile(TREE + file)) as {
      imports: Record<string, string>;
    };
    const imported = new Set(
      graph.edges.filter(({ from }) => from.startsWith(folder ?? "")).map(({ to }) => to),
    );
    for (const [name, target] of Object.entries(imports)) {
      if (!target.startsWith("npm:")) continue;
      assert.ok(imported.has(`npm:${name.replace("@types/", "")}`), `nothing imports ${name}`);
      assert.match(
        target,
        /^npm:(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+$/,
        `${name} is not pinned exactly`,
      );
      assert.ok(described.includes(`\`${name}\``), `docs/dependencies.md does not say why ${name}`);
    }
  }
});

Deno.test("law 4b: tsconfig.json says what deno.json says, for other tools", async () => {
  const read = async (file: string) => JSON.parse(await Deno.readTextFile(TREE + file));
  const [deno, page, tools] = await Promise.all(
    ["deno.json", "gateway/web/deno.json", "tsconfig.json"].map(read),
  );
  const folders = Object.entries<string>(deno.imports)
    .filter(([, target]) => target.startsWith("./"))
    .map(([name, target]) => [name.replace(/\/$/, "/*"), [target.replace(/\/$/, "/*")]]);
  assert.deepEqual(tools.compilerOptions.paths, Object.fromEntries(folders));
  for (const [key, value] of Object.entries(deno.compilerOptions)) {
    assert.equal(tools.compilerOptions[key], value, key);
  }
  const { jsx, jsxImportSource } = page.compilerOptions;
  assert.deepEqual([tools.compilerOptions.jsx, tools.compilerOptions.jsxImportSource], [
    jsx,
    jsxImportSource,
  ]);
});

Deno.test("law 5: no import cycles", () => {
  const next = new Map<string, string[]>();
  for (const { from, to } of program.edges) {
    if (program.files.has(to)) next.set(from, [...(next.get(from) ?? []), to]);
  }
  const state = new Map<string, "open" | "done">();
  const cycles: string[] = [];
  function visit(file: string, trail: readonly string[]): void {
    if (state.get(file) === "done") return;
    if (state.get(file) === "open") {
      cycles.push([...trail.slice(trail.indexOf(file)), file].join(" → "));
      return;
    }
    state.set(file, "open");
    for (const to of next.get(file) ?? []) visit(to, [...trail, file]);
    state.set(file, "done");
  }
  for (const file of program.files) visit(file, []);
  none(cycles, "A cycle has no first file to read.");
});

Deno.test("law 5a: no barrels", () => {
  none(
    sources.filter((file) => /(^|\/)(mod|index)\.tsx?$/.test(file)),
    "A barrel hides where a thing lives.",
  );
});

Deno.test("law 5b: every file is reached from a main.ts", async () => {
  const own = sources.filter((file) => !file.startsWith("tests/"));
  none(own.filter((file) => !program.files.has(file)), "A file that only a test reaches is dead.");
  const text = await Promise.all(
    tests.filter((file) => file.endsWith(".ts")).map((file) => Deno.readTextFile(TREE + file)),
  );
  const named = text.join("\n") + await Deno.readTextFile(`${TREE}dev`) +
    await Deno.readTextFile(`${TREE}deno.json`);
  none(
    tests.filter((file) => !graph.files.has(file) && !named.includes(file.replace("tests/", ""))),
    "A file of the tests that no test reaches is dead.",
  );
});

Deno.test("law 5c: the benches are a workspace member by themselves", async () => {
  const own = JSON.parse(await Deno.readTextFile(`${TREE}tests/bench/deno.json`)) as {
    imports: Record<string, string>;
  };
  const isBench = (file: string) => file.startsWith("tests/bench/");
  none(
    graph.edges.filter(({ from, to }) => isBench(to) && !isBench(from))
      .map(({ from, to }) => `${from} imports ${to}`),
    "What a bench needs is no part of a test run.",
  );
  const users = Map.groupBy(graph.edges.filter(({ to }) => to.startsWith("npm:")), ({ to }) => to);
  none(
    [...users].filter(([name, edges]) =>
      edges.every(({ from }) => isBench(from)) &&
      own.imports[name.slice("npm:".length)] === undefined
    ).map(([name]) => name),
    "A package that only benches import is in tests/bench/deno.json, not in that of all.",
  );
});

Deno.test("law 5d: a group of tests prepares what its files use, and nothing else", () => {
  const wrong: string[] = [];
  for (const { name: group, holds, prepares } of TEST_GROUPS) {
    const { files } = reachedFrom(graph, testEntries.filter(holds));
    for (const [name, modules] of Object.entries(PREPARED_FOR)) {
      const isUsed = modules.some((file) => files.has(file));
      const isPrepared = prepares.includes(name as PreparationName);
      if (isUsed !== isPrepared) wrong.push(`${group}: ${name} is ${isUsed ? "" : "not "}used`);
    }
  }
  none(wrong, "A group waits for no download of others, and has its own without a network.");
});

Deno.test("law 6a: the path of a verb is the path of its file", async () => {
  const fileOf = (verb: string) => `cli/verbs/${verb.replaceAll(" ", "/").replaceAll("-", "_")}.ts`;
  const built = VERBS.filter((verb) => !verb.later).map(verbName);
  assert.deepEqual(
    sources.filter((file) => file.startsWith("cli/verbs/")),
    built.map(fileOf).sort(),
    "cli/verbs/ holds one file for each verb that is built, and nothing else.",
  );
  const loaded = (await Deno.readTextFile(`${TREE}cli/commands.ts`))
    .matchAll(/"([^"]+)": \(\) =>\s+import\("([^"]+)"\)/g);
  assert.deepEqual(
    Object.fromEntries(loaded.map(([, verb, file]) => [verb, file])),
    Object.fromEntries(built.map((verb) => [verb, fileOf(verb)])),
  );
});

Deno.test("law 5e: product code uses every value that it exports", async () => {
  const imported = /\b(?:import|export)\s+(?:type\s+)?(\{[^}]*\}|\* as \w+)\s+from\s+"([^"]+)"/g;
  const exported = /^export (?:async )?(?:function\*?|const|class) (\w+)/gm;
  const texts = new Map(
    await Promise.all(
      sources.map(async (file) => [file, await Deno.readTextFile(TREE + file)] as const),
    ),
  );
  const users = new Map<string, Set<string>>();
  const add = (key: string, file: string) => {
    users.set(key, (users.get(key) ?? new Set()).add(file.startsWith("tests/") ? "tests" : file));
  };
  /** Files imported with `* as`; the names used from them are not checked. */
  const whole = new Set<string>();
  for (const [file, text] of texts) {
    for (const [, names = "", from = ""] of text.matchAll(imported)) {
      if (names.startsWith("*")) whole.add(from);
      for (const [, name = ""] of names.matchAll(/(?:^\{|,)\s*(?:type (?!as\b))?(\w+)/g)) {
        add(`${from} ${name}`, file);
      }
    }
    for (const [, from = ""] of text.matchAll(/\bimport\(\s*"([^"]+)"/g)) whole.add(from);
  }
  const found: string[] = [];
  for (const [file, text] of texts) {
    if (file.startsWith("tests/") || whole.has(file)) continue;
    for (const [, name = ""] of text.matchAll(exported)) {
      const by = users.get(`${file} ${name}`) ?? new Set();
      const isUsedHere = (text.match(new RegExp(`\\b${name}\\b`, "g")) ?? []).length > 1;
      if (by.size === 0) found.push(`${file}: ${name} is imported nowhere`);
      else if (by.size === 1 && by.has("tests") && !isUsedHere) {
        found.push(`${file}: ${name} is used by tests only`);
      }
    }
  }
  none(
    found,
    "Only code of the product is exported, and only values that another file imports.",
  );
});

Deno.test("law 7: files stay small enough to read", async () => {
  const long: string[] = [];
  for (const file of sources) {
    const lines = (await Deno.readTextFile(TREE + file)).split("\n").length - 1;
    const cap = file.startsWith("tests/") ? 500 : 400;
    if (lines > cap) long.push(`${file} has ${lines} lines, at most ${cap}`);
  }
  none(long, "A file past its cap holds two ideas.");
});

Deno.test("law 7: lines stay short enough to stand side by side", async () => {
  // A regular expression or a table row cannot be broken into lines.
  const whole = /^\s*(\/.+\/[a-z]*[,;]?|\* \|.*\|)$/;
  const files = await treeFiles(".ts", ".tsx", ".css", ".js", ".cjs");
  const long: string[] = [];
  for (const file of files.filter((one) => !one.startsWith("tests/golden/"))) {
    const lines = (await Deno.readTextFile(TREE + file)).split("\n");
    lines.forEach((line, at) => {
      if (line.length > 100 && !whole.test(line)) long.push(`${file}:${at + 1}: ${line.length}`);
    });
  }
  none(long, "At most 100 characters, in code as in comments.");
});

Deno.test("law 7: the lint rule on functions counts from the first line to the last", async () => {
  const plugin = (await import("tests/support/lint_plugin.ts")).default;
  const lines = (count: number) => "  step();\n".repeat(count);
  const rows: readonly [string, number][] = [
    [`function f() {\n${lines(68)}}`, 0],
    [`function f() {\n${lines(69)}}`, 1],
    [`const f = async () => {\n${lines(69)}};`, 1],
    [`class C {\n  m() {\n${lines(69)}  }\n}`, 1],
    [`function f() {\n${lines(40)}  return () => {\n${lines(26)}  };\n}`, 0],
    [`function f() {\n${lines(40)}  return () => {\n${lines(27)}  };\n}`, 1],
    [`function f() {\n${lines(9)}  return () => {\n${lines(69)}  };\n}`, 2],
    [`class C {\n  m() {\n${lines(60)}  }\n  n() {\n${lines(60)}  }\n}`, 0],
    [`Deno.test("x", () => {\n${lines(69)}});`, 1],
  ];
  for (const [code, wanted] of rows) {
    const fixture = `/** Fixture.\n * @module\n */\n${code}\n`;
    const found = Deno.lint.runPlugin(plugin, `${TREE}tests/x.ts`, fixture);
    assert.equal(found.length, wanted, `${code.slice(0, 40)}: ${found.map((d) => d.message)}`);
  }
});

Deno.test("law 7a: names of files say what they hold", () => {
  none(
    sources.filter((file) =>
      !/^[a-z0-9_]+(_test)?\.(ts|tsx|d\.ts)$/.test(file.split("/").at(-1) ?? "") ||
      /(^|\/)(utils?|helpers?|common|misc|types|manager|service)\.ts$/.test(file) &&
        !file.startsWith("units/render/")
    ),
    "snake_case, and no drawer for odds and ends.",
  );
});

Deno.test("law 8: docs/errors.md lists every refusal code of the tree", async () => {
  const wanted = await errorsPage();
  const found = await Deno.readTextFile(`${TREE}docs/errors.md`);
  assert.ok(found === wanted, "Scripts match codes. Run ./dev golden and read the diff");
});

Deno.test("law 9: lock files and code carry no addresses of package sources", async () => {
  const found: string[] = [];
  for (const file of await treeFiles("deno.lock", ".json", ".sh", "dev", ".ci/run", ".ts")) {
    const text = await Deno.readTextFile(TREE + file);
    if (/https?:\/\/[a-z0-9.-]*(npmjs|debian)[a-z0-9.-]*\//.test(text)) found.push(file);
  }
  none(found, "A site brings its own mirror.");
});

Deno.test("law 11: nothing is cited that is not in the tree", async () => {
  const cited = /\b[Dd]ecisions? \d+|\b(?:[Ss]pec|[Dd]esign),? "|\bthe spec(?:ification)?\b/;
  const files = await treeFiles(".ts", ".tsx", ".yaml", ".sh", ".pl", ".css", ".md");
  const found: string[] = [];
  for (const file of files.filter((one) => one !== "tests/laws_test.ts")) {
    const lines = (await Deno.readTextFile(TREE + file)).split("\n");
    lines.forEach((line, at) =>
      cited.test(line) && found.push(`${file}:${at + 1}: ${line.trim()}`)
    );
  }
  none(found, "A comment links to docs/ or to a public standard.");
});
