/**
 * The official conformance suite at both protocol revisions, through socket, proxy and gate, and
 * `docs/conformance.md`, which is written from its results.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";
import { serveFixture } from "tests/support/conformance/fixture_server.ts";
import { startFront } from "tests/support/conformance/front.ts";
import {
  conformancePage,
  isByUrl,
  notApplicable,
  type Result,
  type RevisionResults,
} from "tests/support/conformance/page.ts";
import { requiredScenarios, runSuite, suiteVersion } from "tests/support/conformance/suite.ts";

const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
const EXPECTED = `${TREE}tests/conformance/expected_failures.yaml`;
const PAGE = `${TREE}docs/conformance.md`;
const CHILD = `${TREE}tests/support/conformance/client_child.ts`;

/** Results of the tests above the last one. */
const results = new Map<string, { server: Map<string, Result>; client: Map<string, Result> }>();

function of(revision: string) {
  const found = results.get(revision) ?? { server: new Map(), client: new Map() };
  results.set(revision, found);
  return found;
}

for (const revision of REVISIONS) {
  Deno.test({
    name: `every required server scenario of ${revision} passes through socket, proxy and gate`,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const folder = await Deno.makeTempDir({ prefix: "fc-" });
      const listener = Deno.listen({ transport: "unix", path: `${folder}/fixture.sock` });
      serveFixture(listener);
      const front = startFront(`${folder}/fixture.sock`);
      try {
        const run = await runSuite([
          "server",
          "--url",
          front.url,
          "--requirements",
          revision,
          "--expected-failures",
          EXPECTED,
        ]);
        const { server } = await requiredScenarios(revision);
        assert.ok(server.length >= 30, `${server.length} scenarios`);
        for (const scenario of server) {
          const line = new RegExp(`^. ${scenario}: (\\d+) passed, (\\d+) failed`, "m").exec(
            run.output,
          );
          assert.ok(line, `${scenario} was not run:\n${run.output.slice(-4_000)}`);
          assert.equal(line[2], "0", `${scenario} failed:\n${run.output.slice(-4_000)}`);
          assert.ok(Number(line[1]) > 0, `${scenario} checked nothing`);
          of(revision).server.set(scenario, { checks: Number(line[1]) });
        }
        assert.ok(run.isPassed, run.output.slice(-4_000));
      } finally {
        await front.close();
        listener.close();
        await Deno.remove(folder, { recursive: true });
      }
    },
  });

  Deno.test(`every required client scenario of ${revision} that applies passes`, async (t) => {
    const { client } = await requiredScenarios(revision);
    assert.ok(client.length >= 18, `${client.length} scenarios`);
    for (const scenario of client) {
      const reason = notApplicable(scenario);
      if (reason !== undefined) {
        of(revision).client.set(scenario, { reason });
        continue;
      }
      await t.step(scenario, async () => {
        const way = isByUrl(scenario) ? " url" : "";
        const run = await runSuite([
          "client",
          "--scenario",
          scenario,
          "--spec-version",
          revision,
          "--command",
          `${Deno.execPath()} run -q -A --no-check ${CHILD}${way}`,
          "--expected-failures",
          EXPECTED,
        ]);
        const passed = /Passed: (\d+)\/(\d+), 0 failed/.exec(run.output);
        assert.ok(run.isPassed && passed !== null, run.output.slice(-4_000));
        of(revision).client.set(scenario, { checks: Number(passed[1]) });
      });
    }
  });
}

Deno.test("docs/conformance.md matches the suite's results", async () => {
  const revisions = REVISIONS.map((revision): RevisionResults => ({ revision, ...of(revision) }));
  const page = conformancePage(await suiteVersion(), revisions);
  if (Deno.env.get("FLEETCTL_GOLDEN") === "rewrite") return await Deno.writeTextFile(PAGE, page);
  assert.equal(
    await Deno.readTextFile(PAGE).catch(() => ""),
    page,
    "docs/conformance.md differs; FLEETCTL_GOLDEN=rewrite ./dev test conformance writes it",
  );
});
