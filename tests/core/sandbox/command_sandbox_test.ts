/**
 * The words, variables and folders of a command's sandbox.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  isWithin,
  sandboxEnv,
  type SandboxView,
  sandboxWords,
  viewFault,
} from "core/sandbox/command_sandbox.ts";

const VIEW: SandboxView = {
  home: "/home/ada",
  writable: ["/home/ada/project"],
  readable: ["/home/ada/.fleetctl/dial/files"],
  network: "none",
};

/** Returns the position of consecutive words. */
function at(words: readonly string[], ...part: readonly string[]): number {
  return words.findIndex((_, index) => part.every((word, next) => words[index + next] === word));
}

Deno.test("sandboxWords() mounts the folders of the view above the empty home", () => {
  const words = sandboxWords(VIEW, "/home/ada/project");
  const home = at(words, "--tmpfs", "/home/ada");
  const files = at(words, "--ro-bind-try", "/home/ada/.fleetctl/dial/files");
  const project = at(words, "--bind-try", "/home/ada/project", "/home/ada/project");
  const closed = at(words, "--remount-ro", "/");
  assert.ok(home > 0 && home < files && files < project && project < closed, words.join(" "));
  assert.deepEqual(words.slice(-3), ["--chdir", "/home/ada/project", "--"]);
});

Deno.test("sandboxWords() shares nothing but the network, and that only on request", () => {
  const none = sandboxWords(VIEW, "/");
  for (const word of ["--unshare-all", "--die-with-parent", "--new-session", "--disable-userns"]) {
    assert.ok(none.includes(word), word);
  }
  const all = sandboxWords({ ...VIEW, network: "all" }, "/");
  assert.deepEqual(all.filter((word) => !none.includes(word)), ["--share-net"]);
});

Deno.test("sandboxEnv() passes no variable that could contain a key", () => {
  const env = {
    PATH: "/usr/bin",
    LC_TIME: "C",
    TZ: "UTC",
    HOME: "/home/ada",
    ANTHROPIC_API_KEY: "sk-1",
    CODEHOST_TOKEN: "t",
    FLEETCTL_PERMISSIONS: "/p",
    BASH_ENV: "/home/ada/.bashrc",
    LD_PRELOAD: "/x.so",
  };
  assert.deepEqual(sandboxEnv(env, VIEW), {
    PATH: "/usr/bin",
    LC_TIME: "C",
    TZ: "UTC",
    HOME: "/home/ada",
  });
});

const FAULTS: readonly (readonly [string, string, boolean])[] = [
  ["/home/ada/project", "/", true],
  ["/srv/project", "/", true],
  ["/home/ada", "/", false],
  ["/home", "/", false],
  ["/home/ada/", "/", false],
  ["/src/tree", "/src/tree/.fleetctl", false],
  ["/src/tree/.fleetctl/home/ada/project", "/src/tree/.fleetctl", true],
];
for (const [folder, root, isUsable] of FAULTS) {
  Deno.test(`viewFault() ${isUsable ? "accepts" : "refuses"} ${folder} under ${root}`, () => {
    const home = root === "/" ? "/home/ada" : `${root}/home/ada`;
    assert.equal(viewFault({ home, writable: [folder] }, root) === undefined, isUsable);
  });
}

Deno.test("isWithin() compares whole names", () => {
  assert.ok(isWithin("/a/b", "/a"));
  assert.ok(isWithin("/a", "/a/"));
  assert.ok(isWithin("/a", "/"));
  assert.ok(!isWithin("/ab", "/a"));
});
