/**
 * The groups of tests: which files belong to each, and what each needs of the machine.
 * Every `*_test.ts` belongs to exactly one group; `tests/support/test_groups_test.ts` checks it.
 *
 * @module
 */

import type { MachineNeed } from "tests/support/machine.ts";

/** One group, in the order of running. */
export interface TestGroup {
  readonly name: string;
  readonly what: string;
  /** Whether a path relative to the tree belongs to it. */
  readonly holds: (file: string) => boolean;
  /** Part of `./dev check`. */
  readonly quick: boolean;
  /** What the machine must offer; see `tests/support/machine.ts`. */
  readonly needs: readonly MachineNeed[];
}

/** Tests beside the source that start programs, fill disks, kill themselves or take seconds. */
const PROGRAMS =
  /^tests\/(core\/os\/|core\/(secrets\/store[a-z_]*|ledger\/(repository|repository_faults|history)|catalog\/vendor[a-z_]*)_test|units\/(agent_loop|mcp|dial|daemon|package|prepare)\/|units\/reconcile\/(kill|properties|home_files|home_helper)_test|cli\/mcp\/|cli\/(run|status|disk_room|agents\/remove_home|logs\/source|gc\/retention)_test|login\/basic\/(attempts|passwords)_test|teamchat\/(receiver\/spool_test|token\/)|(gateway|login|teamchat)\/(.*\/)?[a-z_]*(kill|sockets|e2e|process)_test|teamchat\/(.*\/)?(turn|body|faults|proactive|owner_events|citations|files|file_consent|fairness|delivery|owners|stream)_test)/;
const MIRROR = /^tests\/(core|units|gateway|login|teamchat|cli)\/.*_test\.ts$/;

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
  },
  {
    name: "unit",
    what: "decisions, renderers, frames, routes",
    holds: (file) => MIRROR.test(file) && !PROGRAMS.test(file),
    quick: true,
    needs: [],
  },
  {
    name: "programs",
    what: "adapters, stores and programs, one at a time and killed",
    holds: (file) => MIRROR.test(file) && PROGRAMS.test(file),
    quick: false,
    needs: [],
  },
  {
    name: "contract",
    what: "one suite for each port, against the real adapter and the fake",
    holds: below(/^tests\/contract\/.*_test\.ts$/),
    quick: false,
    needs: [],
  },
  {
    name: "conformance",
    what: "the official MCP suite through socket, proxy and gate",
    holds: below(/^tests\/conformance\/.*_test\.ts$/),
    quick: false,
    needs: [],
  },
  {
    name: "scripts",
    what: "transcripts of the command line",
    holds: below(/^tests\/scripts\/.*_test\.ts$/),
    quick: false,
    needs: [],
  },
  {
    name: "e2e",
    what: "real role processes, each with its own permission set",
    holds: below(/^tests\/e2e\/.*_test\.ts$/),
    quick: false,
    needs: [],
  },
  {
    name: "image",
    what: "the container image, built and run",
    holds: below(/^tests\/image\/.*_test\.ts$/),
    quick: false,
    needs: ["root", "containers"],
  },
  {
    name: "front",
    what: "HTTPS fronts of Debian before the roles",
    holds: below(/^tests\/front\/.*_test\.ts$/),
    quick: false,
    needs: ["web-servers"],
  },
  {
    name: "web",
    what: "headless Chromium",
    holds: below(/^tests\/web\/.*_test\.ts$/),
    quick: false,
    needs: ["chromium"],
  },
  {
    name: "system",
    what: "booted systemd hosts",
    holds: below(/^tests\/system\/[a-z_]+_test\.ts$/),
    quick: false,
    needs: ["root", "booted-hosts"],
  },
  {
    name: "lan",
    what: "several booted hosts on a private network",
    holds: below(/^tests\/system\/lan\/.*_test\.ts$/),
    quick: false,
    needs: ["root", "booted-hosts", "network-devices"],
  },
];
