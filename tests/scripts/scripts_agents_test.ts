/**
 * The transcripts of agents, hosts and what is decided about them.
 *
 * @module
 */

import { testScripts } from "tests/scripts/run_scripts.ts";

testScripts("agents");
