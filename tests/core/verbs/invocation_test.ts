/**
 * From an argument list to an invocation, and back to an equivalent argument list.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { splitArguments } from "core/os/argv.ts";
import { type Invocation, parseRequest, printInvocation } from "core/verbs/invocation.ts";
import { verbName } from "core/verbs/verb.ts";

function parse(...argv: readonly string[]) {
  return parseRequest(argv, splitArguments);
}

function invocationOf(...argv: readonly string[]): Invocation {
  const request = parse(...argv);
  assert.ok(request.ok, request.ok ? "" : request.error.message);
  assert.equal(request.value.kind, "run");
  return (request.value as { invocation: Invocation }).invocation;
}

const GOOD: readonly {
  readonly argv: string;
  readonly verb: string;
  readonly args?: Readonly<Record<string, string>>;
  readonly options?: Readonly<Record<string, string>>;
  readonly switches?: readonly string[];
  readonly rest?: readonly string[];
  readonly as?: string;
  readonly json?: boolean;
}[] = [
  { argv: "mcp add git self", verb: "mcp add", args: { mcp: "git", agent: "self" } },
  {
    argv: "mcp add git ada --force --dry-run",
    verb: "mcp add",
    args: { mcp: "git", agent: "ada" },
    switches: ["force", "dry-run"],
  },
  {
    argv: "mcp --json add --force git ada",
    verb: "mcp add",
    args: { mcp: "git", agent: "ada" },
    switches: ["force"],
    json: true,
  },
  { argv: "--as ada mcp wired ada", verb: "mcp wired", args: { agent: "ada" }, as: "ada" },
  { argv: "--as=ada --json status", verb: "status", as: "ada", json: true },
  { argv: "apply", verb: "apply" },
  { argv: "apply self", verb: "apply", args: { agent: "self" } },
  {
    argv: "secret set KEY --value -",
    verb: "secret set",
    args: { KEY: "KEY" },
    options: { value: "-" },
  },
  {
    argv: "secret set KEY --value=--x --agent self",
    verb: "secret set",
    args: { KEY: "KEY" },
    options: { value: "--x", agent: "self" },
  },
  { argv: "help mcp add", verb: "help", rest: ["mcp", "add"] },
  { argv: "mcp add -- git ada", verb: "mcp add", args: { mcp: "git", agent: "ada" } },
  { argv: "mcp add git -- --ada", verb: "mcp add", args: { mcp: "git", agent: "--ada" } },
];

for (const row of GOOD) {
  Deno.test(`parseRequest() understands "${row.argv}"`, () => {
    const got = invocationOf(...row.argv.split(" "));
    assert.equal(verbName(got.verb), row.verb);
    assert.deepEqual(got.args, row.args ?? {});
    assert.deepEqual(got.options, row.options ?? {});
    assert.deepEqual([...got.switches], row.switches ?? []);
    assert.deepEqual(got.rest, row.rest ?? []);
    assert.equal(got.as, row.as);
    assert.equal(got.json, row.json ?? false);
  });
}

const BAD: readonly [argv: string, code: string, says: RegExp, hint?: string][] = [
  ["mpc add git", "verb-unknown", /Cannot run "mpc"/, "fleetctl mcp --help"],
  ["mcp ad git ada", "verb-unknown", /Cannot run "mcp ad"/, "fleetctl mcp add --help"],
  ["mcp catalog lst", "verb-unknown", /"mcp catalog lst"/, "fleetctl mcp catalog list --help"],
  ["zzz", "verb-unknown", /"zzz"/, "fleetctl help"],
  ["--frob", "option-unknown", /"--frob"/, "fleetctl --help"],
  ["mcp --frob", "option-unknown", /"--frob"/, "fleetctl mcp --help"],
  ["browser status ada", "verb-not-available", /"browser status"/, "fleetctl help"],
  ["browser status --help", "verb-not-available", /"browser status"/],
  ["mcp add git", "usage", /<agent> is missing/, "fleetctl mcp add --help"],
  ["mcp add git ada bea", "usage", /unexpected argument "bea"/],
  ["mcp add git ada --forse", "usage", /no option "--forse", did you mean "--force"/],
  ["mcp add git ada --force=yes", "usage", /"--force" has a value, must have none/],
  ["mcp add git ada --force --force", "usage", /"--force" is given twice/],
  ["apply ada", "usage", /<agent> is "ada", must be "self" or left out/],
  ["completion tcsh", "usage", /<shell> is "tcsh", must be one of bash, fish, zsh/],
  ["agents add x --channel", "usage", /"--channel" has no value, must be <channel>/],
  ["agents add x --channel --json", "usage", /"--channel" is followed by an option/],
  ["agents add x --channel irc", "usage", /"--channel" is "irc", must be one of webview/],
  ["--as", "usage", /"--as": it has no value, must be <agent>/, "fleetctl --help"],
  ["--as=", "usage", /"--as": it has no value, must be <agent>/, "fleetctl --help"],
  ["mcp --as", "usage", /"--as": it has no value, must be <agent>/, "fleetctl mcp --help"],
  ["--as --json", "usage", /"--as": it has no value, must be <agent>/, "fleetctl --help"],
  ["mcp read", "usage", /2 errors in the arguments/],
];

for (const [argv, code, says, hint] of BAD) {
  Deno.test(`parseRequest() refuses "${argv}" with ${code}`, () => {
    const got = parse(...argv.split(" "));
    assert.ok(!got.ok);
    assert.equal(got.error.code, code);
    assert.equal(got.error.kind, "usage");
    assert.match(got.error.message, says);
    if (hint !== undefined) assert.deepEqual(got.error.hints, [hint]);
  });
}

Deno.test("parseRequest() lists every error of one command line, in order", () => {
  const got = parse("mcp", "read", "--x", "--args");
  assert.ok(!got.ok);
  assert.deepEqual(got.error.details, [
    'there is no option "--x"',
    'option "--args" has no value, must be <json>',
    "<mcp> is missing",
    "<tool> is missing",
  ]);
});

Deno.test("parseRequest() never repeats a secret in an error", () => {
  const got = parse("secret", "set", "KEY", "--value", "-hunter2", "extra", "--value", "hunter3");
  assert.ok(!got.ok);
  assert.doesNotMatch(JSON.stringify(got.error), /hunter/);
});

for (
  const [argv, words] of [
    ["--help", []],
    ["-h", []],
    ["mcp", ["mcp"]],
    ["mcp catalog --help", ["mcp", "catalog"]],
    ["mcp add --help", ["mcp", "add"]],
    ["mcp add git --help", ["mcp", "add"]],
    ["mcp add -h", ["mcp", "add"]],
  ] as const
) {
  Deno.test(`parseRequest() answers "${argv}" with help`, () => {
    const got = parse(...argv.split(" "));
    assert.ok(got.ok);
    assert.deepEqual(got.value, { kind: "help", words });
  });
}

Deno.test("parseRequest() answers --version with the version", () => {
  assert.deepEqual(parse("--version"), { ok: true, value: { kind: "version", json: false } });
  assert.deepEqual(parse("--version", "--json"), {
    ok: true,
    value: { kind: "version", json: true },
  });
});

Deno.test("printInvocation() puts the verb first, words behind -- and no secret anywhere", () => {
  assert.deepEqual(
    printInvocation(
      invocationOf("--json", "--as", "ada", "secret", "set", "KEY", "--value", "hunter2"),
    ),
    ["secret", "set", "--value=-", "--json", "--", "KEY"],
  );
});

Deno.test("printInvocation() prints repeated options repeatedly", () => {
  const words = [
    "mcp",
    "catalog",
    "add",
    "wiki",
    "--npm=a@1.0.0",
    "--grant=read=/a",
    "--grant=net=b",
  ];
  const printed = printInvocation(invocationOf(...words));
  assert.deepEqual(printed.filter((word) => word.startsWith("--grant")), words.slice(5));
  assert.deepEqual(invocationOf(...printed), invocationOf(...words));
});

Deno.test("printInvocation() survives being parsed again, whatever the values are", () => {
  const text = fc.string({ minLength: 1, maxLength: 20 });
  fc.assert(fc.property(text, text, fc.option(text), fc.boolean(), (mcp, tool, json, asJson) => {
    const argv = [
      "mcp",
      "read",
      ...(json === null ? [] : [`--args=${json}`]),
      ...(asJson ? ["--json"] : []),
      "--",
      mcp,
      tool,
    ];
    const first = invocationOf(...argv);
    const second = invocationOf(...printInvocation(first));
    assert.deepEqual(second, first);
  }));
});
