/**
 * The transcripts of MCPs and secrets.
 *
 * @module
 */

import { testScripts } from "tests/scripts/run_scripts.ts";

testScripts("mcp");
