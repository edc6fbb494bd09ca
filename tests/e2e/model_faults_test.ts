/**
 * A model endpoint that misbehaves, through every real part: each turn ends with a stated outcome,
 * and the next one works.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { connectModel } from "tests/support/model_for_agent.ts";
import { makeRoot, runDev, startUp } from "tests/support/up_process.ts";

Deno.test("a model endpoint that answers 429, breaks off or is down ends the turn", async () => {
  const root = await makeRoot();
  const model = await startFakeModel();
  await using up = startUp(root);
  await up.line(/^ready /);
  await connectModel(root, "ada", model.baseUrl);
  const turn = (text: string) => runDev(["up", "--root", root, "--turn", text]);

  model.script(
    { kind: "answer", calls: [{ tool: "bash", arguments: { command: "echo from-the-tool" } }] },
    { kind: "answer", text: "all is well" },
  );
  const first = await turn("hello");
  assert.equal(first.code, 0, first.stdout + first.stderr + up.text());
  assert.match(first.stdout, /from-the-tool/);
  assert.match(first.stdout, /ada: all is well/);
  assert.equal(model.requests[0]?.headers.get("authorization"), "Bearer test-key");

  model.script(
    { kind: "status", status: 429, headers: { "retry-after": "0" } },
    { kind: "answer", text: "after waiting" },
  );
  const waited = await turn("again");
  assert.equal(waited.code, 0, waited.stdout + waited.stderr);
  assert.match(waited.stdout, /after waiting/);

  model.script({ kind: "cut", text: "half of an ans" });
  const cut = await turn("break off");
  assert.equal(cut.code, 1, cut.stdout + cut.stderr);
  assert.match(cut.stderr, /Cannot complete the turn: it failed: /);
  assert.match(cut.stdout, /half of an ans/, "what was said before the break is kept");

  model.forget();
  model.script({ kind: "status", status: 401, body: { error: { message: "bad key" } } });
  const denied = await turn("denied");
  assert.equal(denied.code, 1);
  assert.match(denied.stderr, /it failed: /);
  assert.doesNotMatch(denied.stdout + denied.stderr + up.text(), /test-key/);

  model.forget();
  await model.close();
  const down = await turn("anybody there");
  assert.equal(down.code, 1, down.stdout);
  assert.match(down.stderr, /it failed: /);

  assert.equal(await up.stop(), 0, up.text());
});
