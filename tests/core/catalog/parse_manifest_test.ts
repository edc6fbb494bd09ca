/**
 * Parsing of manifests: every key, and one row for each fault.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseManifest } from "core/catalog/parse_manifest.ts";

const SHA512 = `sha512-${"A".repeat(86)}==`;
const SHA256 = `sha256-${"A".repeat(43)}=`;
const NPM = `name: notes
summary: Reads notes
source: {npm: "@acme/notes@1.4.2"}
integrity: {package: ${SHA512}, lock: ${SHA256}}
command: node_modules/@acme/notes/main.js
`;
const NODE = `${NPM}engine: node
engine_reason: Needs a native addon
`;
const HTTP = `name: notes
summary: Reads notes
source: {http: "https://notes.example.org/mcp?key={NOTES_KEY}"}
auth: env
required_env: [NOTES_KEY]
`;

function parse(text: string, lock: string | undefined = "{}") {
  return parseManifest(text, { name: "notes", file: "notes/mcp.yaml", origin: "overlay", lock });
}

function faultsOf(text: string, lock?: string): readonly string[] {
  const parsed = lock === undefined ? parse(text) : parse(text, lock);
  assert.ok(!parsed.ok, "must be refused");
  return parsed.error.details;
}

Deno.test("parseManifest() reads a small manifest with its defaults", () => {
  const parsed = parse(NPM);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const manifest = parsed.value;
  assert.deepEqual(manifest.source, { kind: "npm", package: "@acme/notes", version: "1.4.2" });
  assert.equal(manifest.auth, "none");
  assert.equal(manifest.sharing, "per_user");
  assert.equal(manifest.exposure, "codemode");
  assert.equal(manifest.engine, "deno");
  assert.equal(manifest.transport, "stdio");
  assert.deepEqual(manifest.permissions, {
    net: [],
    read: [],
    write: [],
    env: [],
    run: [],
    sys: [],
  });
  assert.equal(manifest.limits.idleStopSeconds, 900);
  assert.equal(manifest.lock, "{}");
});

Deno.test("parseManifest() reads every key", () => {
  const parsed = parse(`${NPM}args: ["--root", "{workdir}/notes"]
environment: {CACHE: "{home}/.cache"}
auth: oauth
oauth: {provider: office-a, scopes: [mail.read, "https://example.org/x"]}
required_env: [NOTES_ORG]
user_env: [NOTES_TOKEN]
optional_env: [NOTES_REGION]
scope: shared
transport: stdio
exposure: deferred
tool_exposure: {search: direct, purge: hidden}
tools: {purge: {risk: block}, publish: {risk: ask}}
permissions:
  net: ["notes.example.org:443", "*.example.org"]
  read: ["{home}/notes", /srv/notes]
  write: ["{home}/notes"]
  env: [LANG]
  run: [pandoc]
  sys: [hostname]
run_as: root
limits: {memory_mib: 256, tasks: 16, idle_stop_seconds: 60}
host_programs:
  - {any_of: [pandoc], install: apt-get install -y pandoc}
`);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const manifest = parsed.value;
  assert.deepEqual([...manifest.risk], [["purge", "block"], ["publish", "ask"]]);
  assert.deepEqual([...manifest.toolExposure], [["search", "direct"], ["purge", "hidden"]]);
  assert.equal(manifest.limits.memoryBytesMax, 256 * 1024 * 1024);
  assert.deepEqual(manifest.oauth?.scopes, ["mail.read", "https://example.org/x"]);
  assert.equal(manifest.runAs, "root");
  assert.deepEqual(manifest.hostPrograms[0]?.anyOf, ["pandoc"]);
});

Deno.test("parseManifest() names what a host needs for a server under Node", () => {
  const bare = parse(NODE);
  assert.ok(bare.ok, JSON.stringify(bare));
  assert.equal(bare.value.engineReason, "Needs a native addon");
  assert.deepEqual(bare.value.hostPrograms.map(({ anyOf }) => anyOf), [["node"]]);
  const reads = parse(`${NODE}permissions: {read: [/srv/notes]}\n`);
  assert.ok(reads.ok, JSON.stringify(reads));
  assert.deepEqual(reads.value.hostPrograms.map(({ anyOf }) => anyOf), [["node"], ["bwrap"]]);
});

Deno.test("parseManifest() reads an http entry without a lock", () => {
  const parsed = parse(HTTP, "");
  assert.ok(parsed.ok, JSON.stringify(parsed));
  assert.equal(parsed.value.transport, "http");
  assert.equal(parsed.value.lock, undefined);
});

const BAD: readonly { readonly name: string; readonly text: string; readonly fault: RegExp }[] = [
  {
    name: "an unknown key",
    text: `${NPM}colour: red\n`,
    fault: /mcp\.yaml:6: colour: unknown key/,
  },
  {
    name: "an unknown key below permissions",
    text: `${NPM}permissions: {net: [], ffi: ["/x"]}\n`,
    fault: /:6: permissions\.ffi: unknown key, must be one of net/,
  },
  {
    name: "a caret range",
    text: NPM.replace("@1.4.2", "@^1.4.2"),
    fault: /:3: source\.npm: .*is a range or a tag, not a version/,
  },
  {
    name: "a tag",
    text: NPM.replace("@1.4.2", "@latest"),
    fault: /source\.npm: .*"latest" is a range or a tag/,
  },
  { name: "no version", text: NPM.replace("@1.4.2", ""), fault: /source\.npm: .*name@1\.2\.3/ },
  { name: "an x range", text: NPM.replace("@1.4.2", "@1.x"), fault: /range or a tag/ },
  {
    name: "another name than its folder",
    text: NPM.replace("notes\n", "note\n"),
    fault: /:1: name:/,
  },
  { name: "no summary", text: NPM.replace(/summary.*\n/, ""), fault: /summary: is missing/ },
  { name: "no source", text: NPM.replace(/source.*\n/, ""), fault: /source: is missing/ },
  {
    name: "two sources",
    text: NPM.replace("source: {", "source: {builtin: messenger, "),
    fault: /names 2 kinds, must name exactly one/,
  },
  {
    name: "no integrity",
    text: NPM.replace(/integrity.*\n/, ""),
    fault: /integrity\.package: is missing/,
  },
  {
    name: "a weak hash",
    text: NPM.replace(SHA512, "sha1-abc"),
    fault: /integrity\.package: is "sha1-abc", must be sha512-/,
  },
  {
    name: "a command outside the package",
    text: NPM.replace("node_modules", "../x"),
    fault: /:5: command:/,
  },
  { name: "an absolute command", text: NPM.replace("node_modules", "/x"), fault: /:5: command:/ },
  {
    name: "a bad choice",
    text: `${NPM}scope: global\n`,
    fault: /scope: is "global", must be "shared" or/,
  },
  { name: "a bad exposure", text: `${NPM}exposure: open\n`, fault: /:6: exposure:/ },
  {
    name: "a bad risk",
    text: `${NPM}tools:\n  purge: {risk: maybe}\n`,
    fault: /:7: tools\.purge\.risk: is "maybe", must be "block" or "ask"/,
  },
  {
    name: "a mark that is not a boolean",
    text: `${NPM}tools:\n  list: {read_only: "yes"}\n`,
    fault: /:7: tools\.list\.read_only: is the string yes, must be true or false/,
  },
  { name: "a tool without a risk", text: `${NPM}tools: {purge: {}}\n`, fault: /must have a risk/ },
  {
    name: "a bad tool name",
    text: `${NPM}tools: {"a b": {risk: ask}}\n`,
    fault: /must be a tool name/,
  },
  {
    name: "keys without auth",
    text: `${NPM}required_env: [KEY]\n`,
    fault: /auth: is "none" although keys/,
  },
  {
    name: "a bad key",
    text: `${NPM}auth: env\nrequired_env: [key]\n`,
    fault: /required_env\[0\]: is "key"/,
  },
  {
    name: "a key twice",
    text: `${NPM}auth: env\nuser_env: [K, K]\n`,
    fault: /user_env\[1\]: "K" appears twice/,
  },
  {
    name: "oauth without provider",
    text: `${NPM}auth: oauth\n`,
    fault: /oauth\.provider: is missing/,
  },
  {
    name: "a provider without oauth",
    text: `${NPM}oauth: {provider: x}\n`,
    fault: /not allowed when auth is "none"/,
  },
  {
    name: "node without a reason",
    text: `${NPM}engine: node\n`,
    fault: /engine_reason: is missing/,
  },
  {
    name: "a single host under Node",
    text: `${NODE}permissions: {net: ["a.example:443"]}\n`,
    fault:
      /permissions\.net\[0\]: .*must be "\*": a server under Node cannot be limited to single hosts/,
  },
  {
    name: "programs under Node",
    text: `${NODE}permissions: {run: [git]}\n`,
    fault: /permissions\.run: is not allowed for a server under Node/,
  },
  {
    name: "root under Node",
    text: `${NODE}scope: shared\nrun_as: root\n`,
    fault: /run_as: must be absent: root would leave the sandbox/,
  },
  {
    name: "a folder with dots",
    text: `${NPM}permissions: {read: ["{home}/../x"]}\n`,
    fault: /permissions\.read\[0\]: .*must not contain \. or \.\. parts/,
  },
  {
    name: "a relative folder",
    text: `${NPM}permissions: {write: [x]}\n`,
    fault: /must start with/,
  },
  {
    name: "a folder with a comma",
    text: `${NPM}permissions: {read: ["/a,/b"]}\n`,
    fault: /not contain commas/,
  },
  {
    name: "an unknown placeholder",
    text: `${NPM}args: ["{secret}"]\n`,
    fault: /args\[0\]: .*contains \{secret\}, must use only/,
  },
  {
    name: "a net target with a path",
    text: `${NPM}permissions: {net: ["a/b"]}\n`,
    fault: /must be host/,
  },
  {
    name: "an unknown sys name",
    text: `${NPM}permissions: {sys: [all]}\n`,
    fault: /Deno's sys names/,
  },
  {
    name: "a program with a flag",
    text: `${NPM}permissions: {run: ["git push"]}\n`,
    fault: /program name/,
  },
  {
    name: "a limit that is not a number",
    text: `${NPM}limits: {memory_mib: lots}\n`,
    fault: /whole number/,
  },
  { name: "a limit out of range", text: `${NPM}limits: {tasks: 1}\n`, fault: /from 8 to 4096/ },
  {
    name: "a number instead of a string",
    text: `${NPM}args: [5]\n`,
    fault: /the number 5, must be a string \(put it in/,
  },
  {
    name: "a line break in an argument",
    text: `${NPM}args: ["a\\nb"]\n`,
    fault: /not contain control characters/,
  },
  {
    name: "a secret as fixed environment",
    text: `${NPM}auth: env\nrequired_env: [KEY]\nenvironment: {KEY: x}\n`,
    fault: /environment\.KEY: is also a secret key/,
  },
  {
    name: "a key in a header that is not declared",
    text: `${HTTP}headers: { Authorization: "Bearer {OTHER}" }\n`,
    fault: /headers\.Authorization: .*contains \{OTHER\}, must declare the key/,
  },
  {
    name: "a header of the protocol",
    text: `${HTTP}headers: { Mcp-Session-Id: x }\n`,
    fault: /headers\.Mcp-Session-Id: is not a header that a manifest may set/,
  },
  {
    name: "a header with a line break",
    text: `${HTTP}headers: { X-A: "a\\nb" }\n`,
    fault: /headers\.X-A: .*must be printable ASCII/,
  },
  {
    name: "headers without a URL",
    text: `${NPM}headers: { X-A: b }\n`,
    fault: /headers: is not allowed for a source of kind "npm"/,
  },
  { name: "http without TLS", text: HTTP.replace("https:", "http:"), fault: /must use https/ },
  {
    name: "a user in the URL",
    text: HTTP.replace("notes.ex", "me:pw@notes.ex"),
    fault: /not contain a user or password/,
  },
  {
    name: "an undeclared placeholder",
    text: HTTP.replace("{NOTES_KEY}", "{OTHER}"),
    fault: /contains \{OTHER\}/,
  },
  {
    name: "a placeholder in the host",
    text: HTTP.replace("notes.example.org", "{NOTES_KEY}.example.org"),
    fault: /no placeholder in its host/,
  },
  {
    name: "a placeholder in a host behind one slash",
    text: HTTP.replace("https://notes.example.org", "https:/{NOTES_KEY}.example.org"),
    fault: /must begin with https:\/\/ and a host/,
  },
  {
    name: "a placeholder in a host behind backslashes",
    text: HTTP.replace("https://notes.example.org", "https:\\\\{NOTES_KEY}"),
    fault: /must begin with https:\/\/ and a host/,
  },
  {
    name: "a command for http",
    text: `${HTTP}command: x\n`,
    fault: /command: is not allowed for an http source/,
  },
  {
    name: "a transport that does not fit its source",
    text: `${NPM}transport: http\n`,
    fault: /must match the source/,
  },
  {
    name: "an unknown builtin",
    text: "name: notes\nsummary: x\nsource: {builtin: notes}\n",
    fault: /source\.builtin: is "notes", must be one of agent-message/,
  },
  {
    name: "permissions of a builtin",
    text: "name: notes\nsummary: x\nsource: {builtin: messenger}\npermissions: {run: [sh]}\n",
    fault: /permissions: is fixed for a builtin/,
  },
  { name: "a list", text: "- a\n", fault: /must be a mapping/ },
  { name: "nothing", text: "", fault: /must be a mapping/ },
];

for (const { name, text, fault } of BAD) {
  Deno.test(`parseManifest() refuses a manifest with ${name}`, () => {
    const faults = faultsOf(text);
    assert.ok(faults.some((line) => fault.test(line)), faults.join("\n"));
    for (const line of faults) assert.match(line, /^notes\/mcp\.yaml:\d+: /);
  });
}

Deno.test("parseManifest() names all faults at once, in the order of the file", () => {
  const faults = faultsOf(`${NPM.replace("1.4.2", "~1")}scope: x\ncolour: red\nexposure: y\n`);
  assert.equal(faults.length, 4, faults.join("\n"));
});

Deno.test("parseManifest() refuses an npm source without a lock beside it", () => {
  const parsed = parseManifest(NPM, { name: "notes", file: "f", origin: "overlay" });
  assert.ok(!parsed.ok && /no "deno\.lock" beside/.test(parsed.error.details.join()));
});
