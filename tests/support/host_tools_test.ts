/**
 * Checks that every program in a hint or in a document's command block exists on a host with the
 * package: part of it, essential in Debian, or in a package that it depends on or recommends.
 *
 * @module
 */

import assert from "node:assert/strict";
import { hintsOfSource, sourcesIn } from "tests/support/hints.ts";
import { TREE } from "tests/support/module_graph.ts";
import { controlText } from "units/package/debian.ts";

/** Debian packages that every installation has (`Essential: yes`), and `apt`. */
const ESSENTIAL = [
  "apt",
  "bash",
  "coreutils",
  "findutils",
  "grep",
  "hostname",
  "sed",
  "tar",
  "util-linux",
];
/** Programs by the Debian package that provides them. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  age: ["age", "age-keygen"],
  apt: ["apt", "apt-get"],
  bash: ["cd", "kill", "printf", "umask"],
  coreutils: [
    "chgrp",
    "chmod",
    "chown",
    "cp",
    "cut",
    "id",
    "ln",
    "tee",
    "touch",
    "wc",
    "df",
    "du",
    "head",
    "install",
    "ls",
    "mkdir",
    "mv",
    "rm",
    "sort",
    "tail",
    "tr",
    "base64",
    "cat",
    "stat",
  ],
  curl: ["curl"],
  findutils: ["find"],
  git: ["git"],
  grep: ["grep"],
  hostname: ["hostname"],
  iproute2: ["ss"],
  passwd: ["groupadd", "useradd", "usermod"],
  procps: ["pgrep", "ps"],
  systemd: ["journalctl", "systemctl", "timedatectl"],
  "util-linux": ["findmnt", "lsblk", "mount", "runuser", "setpriv", "umount"],
  "vim-tiny": ["${EDITOR:-vi}"],
};
/** Part of the package. */
const OWN = ["fleetctl", "/usr/lib/fleetctl/fleetctl-login"];
/** Programs that do not run on this host, and where they run. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "./dev": "the tree of the source",
  az: "the computer of who administers the chat platform's tenant",
  certbot: "a host whose certificates it renews, where alone the hint is given",
  npm: "a host whose operator runs an agent program of others, which npm installs",
  npx: "the tree of the source, for the playground of the chat platform",
  podman: "a host that runs the image instead of the package",
  ssh: "the operator's own way to another host",
};

/** Returns the program of each command in a line; quoted text is not a command. */
function programsIn(line: string): readonly string[] {
  const bare = line.replace(/\\./g, "_").replace(/'[^']*'/g, "_");
  const inside = [...bare.matchAll(/\$\(([^()]*)\)/g)].map(([, text]) => text ?? "");
  const outside = bare.replace(/\$\([^()]*\)/g, "_").replace(/"[^"]*"/g, "_");
  return [...inside, ...outside.split(/\|\||&&|[|;]/)].flatMap((part) => {
    const words = part.trim().split(/\s+/).filter((word) => !/^[A-Z_]+=/.test(word));
    const [first = ""] = words[0] === "ssh" ? [] : words;
    return first === "" || first.startsWith("#") || first === "_" ? [] : [first];
  });
}

/** Excludes fragments of a hint and other strings near one in the source. */
function isCommand(hint: string): boolean {
  return /^(?:[a-z][a-z-]+|\$\{EDITOR:-vi\}|\.\/dev) \S/.test(hint);
}

/** Returns the lines of a page's shell blocks; continued lines are joined. */
function blocksOf(page: string): readonly string[] {
  return [...page.matchAll(/^```(?:sh|bash)\n([^]*?)^```$/gm)].flatMap(([, block = ""]) =>
    block.replaceAll("\\\n", " ").split("\n").map((line) => line.replace(/\s#.*$/, ""))
  );
}

Deno.test("every program that a hint or a document names comes with the package", async () => {
  const control = controlText({ version: "1", arch: "x86_64", kilobytes: 1 });
  const declared = [...control.matchAll(/^(?:Depends|Recommends): (.*)$/gm)].flatMap((
    [, list = ""],
  ) => list.split(/[,|]/).map((one) => one.trim().split(" ")[0] ?? ""));
  const there = new Set([
    ...OWN,
    ...Object.keys(ELSEWHERE),
    ...Object.entries(PACKAGES).flatMap(([name, programs]) =>
      ESSENTIAL.includes(name) || declared.includes(name) ? programs : []
    ),
  ]);
  const named: (readonly [place: string, line: string])[] = [];
  const pages = [`${TREE}README.md`];
  for await (const { name } of Deno.readDir(`${TREE}docs`)) {
    if (name.endsWith(".md")) pages.push(`${TREE}docs/${name}`);
  }
  for (const page of pages) {
    for (const line of blocksOf(await Deno.readTextFile(page))) named.push([page, line]);
  }
  for (const part of ["cli", "core", "gateway", "login", "teamchat", "units"]) {
    for await (const path of sourcesIn(TREE + part)) {
      const hints = hintsOfSource(await Deno.readTextFile(path)).filter(isCommand);
      named.push(...hints.map((hint) => [path, hint] as const));
    }
  }
  const missing = named.flatMap(([place, line]) =>
    programsIn(line).filter((program) => !there.has(program))
      .map((program) => `${place}: ${program} in ${line}`)
  );
  assert.ok(named.length > 300, `${named.length} lines were found`);
  assert.deepEqual(missing, []);
});
