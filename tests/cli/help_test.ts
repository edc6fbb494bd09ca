/**
 * Help, manual page and completion, all generated from the verb table.
 *
 * @module
 */

import assert from "node:assert/strict";
import { COMMANDS } from "cli/commands.ts";
import { completionScript, SHELLS } from "cli/completion_script.ts";
import { helpText, shownVerbs } from "cli/help.ts";
import { answerHelp } from "cli/help/answer.ts";
import { manPage } from "cli/man_page.ts";
import { VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";
import { VERSION } from "core/version.ts";
import { assertGolden } from "tests/support/golden.ts";

Deno.test("helpText() of the program, groups and verbs matches the golden file", async () => {
  const groups = new Set(
    shownVerbs().flatMap((verb) =>
      verb.path.slice(0, -1).map((_, depth) => verb.path.slice(0, depth + 1).join(" "))
    ),
  );
  const words = ["", ...groups, ...shownVerbs().map(verbName)].sort();
  const pages = words.map((name) => {
    const text = helpText(name === "" ? [] : name.split(" "));
    assert.ok(text !== undefined, name);
    return `$ fleetctl ${name} --help\n${text}`;
  });
  await assertGolden("cli/help.txt", pages.join("\n"));
});

Deno.test("manPage() matches the golden file", async () => {
  await assertGolden("cli/fleetctl.1", manPage("0.0.0"));
});

for (const shell of SHELLS) {
  Deno.test(`completionScript() of ${shell} matches the golden file`, async () => {
    await assertGolden(`cli/completion.${shell}`, completionScript(shell));
  });
}

Deno.test("completionScript() of bash is a script that bash accepts", async () => {
  const child = new Deno.Command("bash", { args: ["-n"], stdin: "piped", stderr: "piped" }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(completionScript("bash")));
  await writer.close();
  const { code, stderr } = await child.output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
});

const COMPLETIONS: readonly [typed: string, want: readonly string[], not: readonly string[]][] = [
  ["fleetctl ", ["mcp", "status", "agents"], ["add", "--json"]],
  ["fleetctl m", ["mcp"], ["status"]],
  ["fleetctl mcp ", ["add", "remove", "wired", "read", "call", "catalog"], ["mcp"]],
  ["fleetctl mcp catalog ", ["add", "list", "upgrade"], ["catalog"]],
  ["fleetctl mcp add --", ["--force", "--dry-run", "--json", "--as"], ["--channel"]],
  ["fleetctl --json mcp ", ["add"], []],
  ["fleetctl agents add x --channel ", ["webview", "teamchat"], ["--json"]],
  ["fleetctl completion ", ["bash", "zsh", "fish"], []],
  ["fleetctl apply ", ["self"], []],
  ["fleetctl --", ["--version", "--help"], []],
];

for (const [typed, want, not] of COMPLETIONS) {
  Deno.test(`completionScript() of bash completes "${typed}"`, async () => {
    const words = typed.split(" ");
    const script = `${completionScript("bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _fleetctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: ["--norc", "-c", script, "bash", ...words],
    }).output();
    assert.equal(new TextDecoder().decode(stderr), "");
    const got = new TextDecoder().decode(stdout).split("\n");
    for (const word of want) assert.ok(got.includes(word), `${word} not in ${got}`);
    for (const word of not) assert.ok(!got.includes(word), `${word} in ${got}`);
  });
}

const ANSWERS: readonly [argv: string, code: number, stdout: RegExp, stderr: RegExp][] = [
  ["", 0, /Usage: fleetctl <verb>/, /^$/],
  ["--help", 0, /Usage: fleetctl <verb>/, /^$/],
  ["-h", 0, /Usage: fleetctl <verb>/, /^$/],
  ["mcp --help", 0, /Verbs below "fleetctl mcp"/, /^$/],
  ["--help mcp add", 0, /Usage: fleetctl mcp add/, /^$/],
  ["mcp add git ada --force --help", 0, /Usage: fleetctl mcp add/, /^$/],
  ["up --turn --help", 0, /Usage: fleetctl up/, /^$/],
  ["--as ada mcp wired --help", 0, /Usage: fleetctl mcp wired/, /^$/],
  ["browser status --help", 2, /^$/, /does not have it yet/],
  ["mpc --help", 2, /^$/, /hint: fleetctl mcp --help/],
  ["--version", 0, /^fleetctl 9\.9\.9\n$/, /^$/],
  ["--version --json", 0, /^{"version":"9\.9\.9"}\n$/, /^$/],
];

for (const [argv, code, stdout, stderr] of ANSWERS) {
  Deno.test(`answerHelp() answers "${argv}" with ${code}`, () => {
    const printed = answerHelp(argv === "" ? [] : argv.split(" "), "9.9.9", {});
    assert.equal(printed.code, code);
    assert.match(printed.stdout, stdout);
    assert.match(printed.stderr, stderr);
  });
}

Deno.test("COMMANDS has a file for each implemented verb, and for no other", () => {
  const built = VERBS.filter((verb) => !verb.later).map(verbName);
  assert.deepEqual(Object.keys(COMMANDS).sort(), [...built].sort());
});

for (const [name, load] of Object.entries(COMMANDS)) {
  Deno.test(`COMMANDS "${name}" has separate functions to parse and to run`, async () => {
    const command = await load();
    assert.equal(typeof command.parseOptions, "function");
    assert.equal(typeof command.run, "function");
  });
}

Deno.test("VERSION is the version of the project file", async () => {
  const config = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));
  assert.equal(VERSION, config.version);
});

Deno.test("cli/help/main.ts loads the verb table and help alone, by import() too", async () => {
  const main = new URL("../../cli/help/main.ts", import.meta.url);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", main.pathname],
  }).output();
  const { modules, roots } = JSON.parse(new TextDecoder().decode(stdout)) as {
    roots: string[];
    modules: {
      specifier: string;
      dependencies?: { code?: { specifier?: string } }[];
    }[];
  };
  const seen = new Set<string>();
  const visit = (specifier: string) => {
    if (seen.has(specifier)) return;
    seen.add(specifier);
    const module = modules.find((one) => one.specifier === specifier);
    for (const edge of module?.dependencies ?? []) {
      if (edge.code?.specifier !== undefined) visit(edge.code.specifier);
    }
  };
  visit(roots[0] ?? "");
  const tree = new URL("../../", import.meta.url).href;
  assert.deepEqual([...seen].map((url) => url.replace(tree, "")).sort(), [
    "cli/exit.ts",
    "cli/help.ts",
    "cli/help/answer.ts",
    "cli/help/main.ts",
    "core/errors.ts",
    "core/hints/local_hints.ts",
    "core/ports/files.ts",
    "core/result.ts",
    "core/text/quote.ts",
    "core/verbs/invocation.ts",
    "core/verbs/list_verb.ts",
    "core/verbs/nearest.ts",
    "core/verbs/record_options.ts",
    "core/verbs/table.ts",
    "core/verbs/table_agents.ts",
    "core/verbs/table_approvals.ts",
    "core/verbs/table_ceilings.ts",
    "core/verbs/table_conversations.ts",
    "core/verbs/table_host.ts",
    "core/verbs/table_mcp.ts",
    "core/verbs/table_mcp_catalog.ts",
    "core/verbs/table_questions.ts",
    "core/verbs/table_store.ts",
    "core/verbs/verb.ts",
    "core/version.ts",
    "units/manager/service_manager.ts",
  ]);
});
