/**
 * The shape of the tree as tests, each with the reason why it is a law (HACKING.md, "Laws").
 * Law 3 (who may touch the machine) is held by the lint plugin and checked here for gaps;
 * law 6 by the types of `core/verbs/verb.ts` and `gateway/cockpit/route.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Edge, readGraph, TREE, treeFiles } from "tests/support/module_graph.ts";
import { errorsPage } from "tests/support/errors_page.ts";
import { THIRD_PARTY } from "tests/support/third_party.ts";

const ROLES = ["cli", "gateway", "login", "teamchat"] as const;
/** Areas of core from left to right; each imports only those to its left. The first two are peers. */
const AREAS = [
  "catalog ledger",
  "access",
  "secrets",
  "mcp",
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

const sources = (await treeFiles(".ts", ".tsx")).filter((file) =>
  !file.startsWith("tests/golden/")
);
const mains = sources.filter((file) => file.endsWith("/main.ts") && !file.startsWith("tests/"));
const tests = sources.filter((file) => file.startsWith("tests/"));
const program = await readGraph(mains);

function top(file: string): string {
  return file.split("/")[0] ?? "";
}
function isMain(file: string): boolean {
  return file.endsWith("/main.ts");
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

Deno.test("law 2a: only composition roots import the adapters of core/os", () => {
  none(
    offenders(({ from, to }) =>
      to.startsWith("core/os/") && !from.startsWith("core/os/") && !isMain(from)
    ),
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
    offenders(({ from, to }) => /^core\/[^/]+$/.test(from) && /^core\/[^/]+\//.test(to)),
    "The vocabulary stands by itself.",
  );
});

Deno.test("law 2d: a role imports of units only what renders and reconciles, and only cli does", () => {
  none(
    offenders(({ from, to }) =>
      ROLES.some((role) => role === top(from)) && top(to) === "units" &&
      !(top(from) === "cli" && /^units\/(render|reconcile)\//.test(to))
    ),
    "The programs of units/ are started, not imported.",
  );
});

Deno.test("law 3: the lint rule that keeps the machine at the edge sees what it must see", async () => {
  const plugin = (await import("tests/support/lint_plugin.ts")).default;
  const rows: readonly [string, string, number][] = [
    ["core/ledger/x.ts", "export const a = Deno.pid;", 1],
    ["core/ledger/x.ts", "export const a = Date.now();", 1],
    ["core/ledger/x.ts", "export const a = Math.random();", 1],
    ["core/ledger/x.ts", 'export const a = fetch("http://localhost");', 1],
    ["core/ledger/x.ts", "setTimeout(() => {}, 1);", 1],
    ["core/ledger/x.ts", 'import "node:fs";', 1],
    ["core/ledger/x.ts", "export const a = (http: { fetch(): void }) => http.fetch();", 0],
    ["core/os/x.ts", "export const a = Date.now();", 0],
    ["gateway/main.ts", "export const a = Deno.pid;", 0],
    ["cli/parse.ts", 'import "node:util";', 0],
    ["core/ledger/x.ts", "// TODO later", 1],
    ["core/ledger/x.ts", "// TODO(#12): later", 0],
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
    offenders(({ from, to }) => {
      if (!to.startsWith("npm:")) return false;
      const name = to.slice("npm:".length);
      const allowed = THIRD_PARTY[name];
      return allowed === undefined || !allowed.some((pattern) => pattern.test(from));
    }),
    "A dependency sits behind the few files named in docs/dependencies.md, so that it can be replaced.",
  );
});

Deno.test("law 4a: every package of deno.json is pinned exactly and described", async () => {
  const config = JSON.parse(await Deno.readTextFile(`${TREE}deno.json`)) as {
    imports: Record<string, string>;
  };
  const described = await Deno.readTextFile(`${TREE}docs/dependencies.md`);
  for (const [name, target] of Object.entries(config.imports)) {
    if (!target.startsWith("npm:")) continue;
    assert.match(
      target,
      /^npm:(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+$/,
      `${name} is not pinned exactly`,
    );
    assert.ok(described.includes(`\`${name}\``), `docs/dependencies.md does not say why ${name}`);
  }
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

Deno.test("law 5b: every file is reached from a main.ts or a test", async () => {
  const fromTests = await readGraph(
    tests.filter((file) => file.endsWith("_test.ts") || isMain(file)),
  );
  const reached = program.files.union(fromTests.files);
  const text = await Promise.all(
    tests.filter((file) => file.endsWith(".ts")).map((file) => Deno.readTextFile(TREE + file)),
  );
  const named = text.join("\n") + await Deno.readTextFile(`${TREE}dev`) +
    await Deno.readTextFile(`${TREE}deno.json`);
  none(
    sources.filter((file) => !reached.has(file) && !named.includes(file.replace(/^tests\//, ""))),
    "A file that nothing reaches is dead.",
  );
});

Deno.test("law 7: files stay small enough to read", async () => {
  const long: string[] = [];
  for (const file of sources) {
    const lines = (await Deno.readTextFile(TREE + file)).split("\n").length - 1;
    const cap = file.startsWith("tests/") ? 600 : 400;
    if (lines > cap) long.push(`${file} has ${lines} lines, at most ${cap}`);
  }
  none(long, "A file past its cap holds two ideas.");
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
