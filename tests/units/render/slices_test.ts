/**
 * The slices that enforce the limits of agents: the services in each, and the text of each limit.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defaultLimits } from "core/limits/agent.ts";
import type { AgentName } from "core/names.ts";
import { agent, facts } from "tests/units/reconcile/fixture.ts";
import { desire } from "units/reconcile/desired.ts";

const UNITS = "/etc/systemd/system";
const GIB = 1024 ** 3;
const limits = defaultLimits({ memoryBytes: 8 * GIB, agents: 2 });
const own = agent("x-ada", { limits: { memoryMaxBytes: 2 * GIB, ioWeight: 20 } });
const given = facts({ "x-ada": ["git"], bob: ["notes"] }, {
  root: "/",
  records: [agent("bob"), own],
  limits,
});

function textsOf(of = given): ReadonlyMap<string, string> {
  return new Map(desire(of).files.map(({ file }) => [file.path, file.content]));
}

Deno.test("slices limit all agents together, each agent, and one with own limits", () => {
  const texts = textsOf();
  assert.equal(
    texts.get(`${UNITS}/fleetctl.slice`),
    `# Rendered by fleetctl; changes are overwritten.
[Unit]
Description=Agents of fleetctl and their MCP servers

[Slice]
MemoryHigh=7398752256
MemoryMax=7516192768
TasksMax=28672
CPUWeight=50
IOWeight=50
`,
  );
  assert.equal(
    texts.get(`${UNITS}/fleetctl-agents-.slice.d/50-limits.conf`),
    `# Rendered by fleetctl; changes are overwritten.
[Slice]
MemoryHigh=3699376128
MemoryMax=3758096384
TasksMax=3584
CPUWeight=100
IOWeight=100
# Idle memory may be swapped out; one command must not fill the host's swap
MemorySwapMax=939524096
`,
  );
  const name = `${UNITS}/fleetctl-agents-x\\x2dada.slice.d/50-limits.conf`;
  assert.match(
    texts.get(name) ?? "",
    /MemoryHigh=2113929216\nMemoryMax=2147483648\nTasksMax=3584\n/,
  );
  assert.match(texts.get(name) ?? "", /CPUWeight=100\nIOWeight=20\n/);
  const dropIns = [...texts.keys()].filter((path) => path.includes(".slice.d/"));
  assert.equal(dropIns.length, 2, "an agent without limits of its own has no file");
});

Deno.test("the services of an agent count towards it, shared servers towards all", () => {
  const texts = textsOf();
  const sliceOf = (unit: string) => /^Slice=(.*)$/m.exec(texts.get(`${UNITS}/${unit}`) ?? "")?.[1];
  assert.equal(sliceOf("fleetctl-dial-x-ada.service"), "fleetctl-agents-x\\x2dada.slice");
  assert.equal(sliceOf("mcp-git-x-ada@.service"), "fleetctl-agents-x\\x2dada.slice");
  assert.equal(sliceOf("fleetctl-dial-bob.service"), "fleetctl-agents-bob.slice");
  assert.equal(sliceOf("mcp-notes@.service"), "fleetctl.slice");
  for (const unit of ["fleetctl-daemon", "fleetctl-gateway", "fleetctl-login"]) {
    assert.ok(texts.has(`${UNITS}/${unit}.service`), unit);
    assert.equal(sliceOf(`${unit}.service`), undefined, `${unit} is the host's`);
  }
});

Deno.test("a changed limit is no input of a unit: nothing restarts for it", () => {
  const more = { ...own, limits: { memoryMaxBytes: 4 * GIB } };
  const after = facts({ "x-ada": ["git"], bob: ["notes"] }, {
    root: "/",
    records: [agent("bob"), more],
    limits: defaultLimits({ memoryBytes: 64 * GIB, agents: 300 }),
  });
  const inputs = (of: typeof given) => desire(of).units.map((unit) => [unit.name, unit.inputs]);
  assert.deepEqual(inputs(after), inputs(given));
  assert.notDeepEqual(textsOf(after), textsOf());
});

Deno.test("without a service manager that enforces limits there are no slices", () => {
  const { limits: _, ...rest } = given;
  assert.deepEqual([...textsOf(rest).keys()].filter((path) => path.includes("slice")), []);
});

Deno.test("an agent's slice file is removed with the agent", () => {
  const tagged = desire(given).files.filter(({ file }) => file.path.includes("x2dada.slice.d"));
  assert.deepEqual(tagged.map((each) => each.agent), ["x-ada" as AgentName]);
});
