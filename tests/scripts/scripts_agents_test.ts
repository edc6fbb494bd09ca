/**
 * The transcripts of agents, hosts and decisions about them.
 *
 * @module
 */

import { testScripts } from "tests/scripts/run_scripts.ts";

testScripts("agents");
