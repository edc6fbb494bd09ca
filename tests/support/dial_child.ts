/**
 * A dial unit as a separate process with a scripted runtime, so that a test can kill it. A turn
 * `hang <n>` reports n notices and never ends; any other turn echoes its text.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import { hang, scriptedRuntime } from "tests/fakes/runtime.ts";
import { hastyClock, startTestDial } from "tests/support/dial_fixture.ts";

const [root, url] = Deno.args;
if (root === undefined || url === undefined) throw new Error("usage: dial_child.ts ROOT URL");
const host = { ...openHost({ log: { program: "dial-child" } }), clock: hastyClock(5) };
const driver = scriptedRuntime(async ({ turnId, text, report }) => {
  const count = Number(/^hang (\d+)$/.exec(text)?.[1] ?? -1);
  for (let n = 0; n < count; n++) await report({ kind: "notice", text: `${n}` });
  if (count >= 0) return await hang();
  await report({ kind: "message", messageId: `m-${turnId}`, text });
  return { outcome: "completed" };
});
await startTestDial({ url, driver, host, env: { FLEETCTL_ROOT: root } });
host.log.info("ready");
