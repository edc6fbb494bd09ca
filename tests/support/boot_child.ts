/**
 * Boots a host and never ends by itself: a test run that a test kills. Prints the name of the
 * machine and its folder when the host is up.
 *
 * @module
 */

import { bootHost } from "tests/support/booted_host.ts";

const { root } = await bootHost();
console.log(JSON.stringify({ machine: `fleetctl-test-${Deno.pid}-solo`, root }));
setInterval(() => {}, 1 << 30);
