/**
 * The groups of tests: the files of each group, and what each needs of the machine. Every
 * `*_test.ts` belongs to exactly one group; `tests/support/test_groups_test.ts` checks it.
 *
 * @module
 */

import type { MachineNeed } from "tests/support/machine.ts";

/** A resource that only a few test files may use at the same time; see `RESOURCE_PLACES`. */
export type Resource = "hosts" | "browser" | "containers";

/**
 * How many test files may use a resource at the same time. Booted hosts mostly wait, and each has
 * its own name. Browser tests have deadlines. Containers share the kernel's overlay mounts.
 */
export const RESOURCE_PLACES: Readonly<Record<Resource, number>> = {
  hosts: 2,
  browser: 1,
  containers: 1,
};

/** What can be downloaded before tests run offline; `tests/support/prepare.ts` does it. */
export type PreparationName = "vendor" | "bundler" | "suite" | "playground" | "sdks" | "programs";

/**
 * The modules that use the result of each preparation. A group whose tests reach such a module
 * prepares it.
 */
export const PREPARED_FOR: Readonly<Record<PreparationName, readonly string[]>> = {
  vendor: ["tests/support/prepare_vendor.ts"],
  bundler: ["units/package/bundle.ts", "tests/support/built_package.ts"],
  suite: ["tests/support/conformance/suite.ts", "tests/support/http_mcp.ts"],
  playground: ["tests/support/playground.ts"],
  sdks: ["tests/teamchat/sdks/subjects.ts"],
  programs: ["tests/support/runtime_programs.ts"],
};

/** One group. */
export interface TestGroup {
  readonly name: string;
  readonly what: string;
  /** Returns whether a path relative to the tree belongs to it. */
  readonly holds: (file: string) => boolean;
  /** Whether `./dev check` runs it. */
  readonly quick: boolean;
  /** Required features of the machine; see `tests/support/machine.ts`. */
  readonly needs: readonly MachineNeed[];
  /** Downloads before its first test; see `tests/support/prepare.ts`. */
  readonly prepares: readonly PreparationName[];
  /** Resources with limited places that its files use. */
  readonly uses: readonly Resource[];
  /** How many files one process runs, one after another, each in a separate isolate. */
  readonly batch: number;
}

/** Mirrored tests that start programs, fill disks, kill their own processes or take seconds. */
const PROGRAMS: readonly RegExp[] = [
  /^tests\/([a-z0-9_]+\/)*os\//,
  /^tests\/core\/(risk\/entry_points|secrets\/(store[a-z_]*|shards)|catalog\/vendor[a-z_]*)_test/,
  /^tests\/core\/ledger\/(repository|repository_faults|history|last_good)_test/,
  /^tests\/units\/(agent_loop|mcp|dial(?!\/runtimes)|daemon|package|prepare)\//,
  /^tests\/units\/reconcile\/(kill|properties|run|scope|home_files|home_helper)_test/,
  /^tests\/cli\/mcp\//,
  /^tests\/cli\/(run|verbs\/status|up\/login_account|disk_room)_test/,
  /^tests\/cli\/(agents\/remove_home|logs\/source|gc\/retention)_test/,
  /^tests\/gateway\/transcript\/turn_pages_test/,
  /^tests\/login\/(basic\/(attempts|passwords)|session\/sessions)_test/,
  /^tests\/teamchat\/(receiver\/spool_test|token\/)/,
  /^tests\/(gateway|login|teamchat)\/(.*\/)?[a-z_]*(kill|race|sockets|e2e|process)_test/,
  /^tests\/teamchat\/(.*\/)?(turn|body|exactly_once|faults|proactive|owner_events)_test/,
  /^tests\/teamchat\/(.*\/)?(citations|files|file_consent|fairness|delivery|owners|stream)_test/,
];
const MIRROR = /^tests\/(core|units|gateway|login|teamchat|cli)\/.*_test\.ts$/;

function isProgram(file: string): boolean {
  return PROGRAMS.some((pattern) => pattern.test(file));
}

function below(pattern: RegExp): TestGroup["holds"] {
  return (file) => pattern.test(file);
}

/** All groups. */
export const TEST_GROUPS: readonly TestGroup[] = [
  {
    name: "laws",
    what: "the shape of the tree",
    holds: below(/^tests\/(laws_test|support\/[a-z_]+_test)\.ts$/),
    quick: true,
    needs: [],
    prepares: [],
    uses: [],
    batch: 3,
  },
  {
    name: "unit",
    what: "decisions, renderers, frames, routes",
    holds: (file) => MIRROR.test(file) && !isProgram(file),
    quick: true,
    needs: [],
    prepares: [],
    uses: [],
    batch: 28,
  },
  {
    name: "programs",
    what: "adapters, stores and programs, one at a time and killed",
    holds: (file) => MIRROR.test(file) && isProgram(file),
    quick: false,
    needs: [],
    prepares: ["vendor", "bundler", "suite"],
    uses: [],
    batch: 8,
  },
  {
    name: "contract",
    what: "one suite for each port, against the real adapter and the fake",
    holds: below(/^tests\/contract\/.*_test\.ts$/),
    quick: false,
    needs: [],
    prepares: [],
    uses: [],
    batch: 5,
  },
  {
    name: "conformance",
    what: "the official MCP suite through socket, proxy and gate",
    holds: below(/^tests\/conformance\/.*_test\.ts$/),
    quick: false,
    needs: [],
    prepares: ["suite"],
    uses: [],
    batch: 1,
  },
  {
    name: "scripts",
    what: "transcripts of the command line",
    holds: below(/^tests\/scripts\/.*_test\.ts$/),
    quick: false,
    needs: [],
    prepares: [],
    uses: [],
    batch: 1,
  },
  {
    name: "e2e",
    what: "real role processes, each with its own permission set",
    holds: below(/^tests\/e2e\/.*_test\.ts$/),
    quick: false,
    needs: [],
    prepares: ["vendor", "suite", "sdks"],
    uses: [],
    batch: 1,
  },
  {
    name: "eval",
    what: "ten tasks of the built-in runtime against a scripted model",
    holds: below(/^tests\/eval\/.*_test\.ts$/),
    quick: false,
    needs: [],
    prepares: [],
    uses: [],
    batch: 1,
  },
  {
    name: "runtimes",
    what: "real agent programs, unchanged, against a scripted model",
    holds: below(/^tests\/runtimes\/.*_test\.ts$/),
    quick: false,
    needs: [],
    prepares: ["programs", "suite"],
    uses: [],
    batch: 1,
  },
  {
    name: "image",
    what: "the container image, built and run",
    holds: below(/^tests\/image\/.*_test\.ts$/),
    quick: false,
    needs: ["root", "containers"],
    prepares: ["bundler"],
    uses: ["containers"],
    batch: 1,
  },
  {
    name: "front",
    what: "HTTPS fronts of Debian before the roles",
    holds: below(/^tests\/front\/.*_test\.ts$/),
    quick: false,
    needs: ["web-servers"],
    prepares: [],
    uses: [],
    batch: 1,
  },
  {
    name: "web",
    what: "headless Chromium",
    holds: below(/^tests\/web\/.*_test\.ts$/),
    quick: false,
    needs: ["chromium"],
    prepares: ["vendor", "suite", "playground"],
    uses: ["browser"],
    batch: 1,
  },
  {
    name: "system",
    what: "booted systemd hosts",
    holds: below(/^tests\/system\/[a-z_]+_test\.ts$/),
    quick: false,
    needs: ["root", "booted-hosts"],
    prepares: ["vendor", "bundler", "programs", "suite"],
    uses: ["hosts"],
    batch: 1,
  },
  {
    name: "page",
    what: "the page of a booted host in headless Chromium",
    holds: below(/^tests\/system\/page\/.*_test\.ts$/),
    quick: false,
    needs: ["root", "booted-hosts", "chromium"],
    prepares: ["vendor", "bundler", "suite"],
    uses: ["hosts", "browser"],
    batch: 1,
  },
  {
    name: "lan",
    what: "several booted hosts on a private network",
    holds: below(/^tests\/system\/lan\/.*_test\.ts$/),
    quick: false,
    needs: ["root", "booted-hosts", "network-devices"],
    prepares: ["bundler"],
    uses: ["hosts"],
    batch: 1,
  },
];
