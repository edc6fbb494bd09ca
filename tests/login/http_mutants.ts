/**
 * The checks of the listener and the client beneath the login proxy, as `mutants.ts` has those of the proxy.
 * Data only.
 *
 * @module
 */

import type { Mutant } from "tests/login/mutants.ts";

const UPSTREAM = "tests/core/os/upstream_test.ts";

/** All of them. */
export const HTTP_MUTANTS: readonly Mutant[] = [
  {
    check: "the whole of a head that is not all ASCII",
    file: "core/os/latin1.ts",
    from: "if (read !== text.length || written !== text.length) into",
    to: "if (written !== text.length) into",
    tests: [UPSTREAM],
  },
];
