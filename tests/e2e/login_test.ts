/**
 * The path of a browser through real processes, each with its own permission set: log in at the
 * address that `up` prints, send a turn, watch its answer, log out.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { pathsUnder } from "core/paths.ts";
import { makeRoot, runVerb, startUp } from "tests/support/up_process.ts";

const OPEN = /^open (http:\/\/localhost:\d+) {2}user (\S+) {2}password (\S{20})$/;

interface Printed {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

function printedIn(line: string): Printed {
  const [, url = "", user = "", password = ""] = OPEN.exec(line) ?? [];
  return { url, user, password };
}

function cookieOf(answer: Response, name: string): string {
  return answer.headers.getSetCookie().find((line) => line.startsWith(`${name}=`))
    ?.split(";")[0] ?? "";
}

async function logIn({ url, user, password }: Printed): Promise<Response> {
  const form = await fetch(`${url}/auth/login`, { headers: { accept: "text/html" } });
  const csrf = /name="csrf" value="([^"]*)"/.exec(await form.text())?.[1] ?? "";
  const answer = await fetch(`${url}/auth/login`, {
    method: "POST",
    redirect: "manual",
    headers: { accept: "text/html", origin: url, cookie: cookieOf(form, "wv_login_csrf") },
    body: new URLSearchParams({ csrf, user, password }),
  });
  await answer.body?.cancel();
  return answer;
}

/** Reads an event stream up to the first event of this kind. */
async function readUntil(answer: Response, kind: string): Promise<readonly EventSourceMessage[]> {
  const seen: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => seen.push(event) });
  const decoder = new TextDecoder();
  for await (const chunk of answer.body!) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (seen.some(({ event }) => event === kind)) return seen;
  }
  throw new Error(`the stream ended before ${kind}: ${JSON.stringify(seen)}`);
}

Deno.test("a person logs in, watches a turn, and ends everything by logging out", async () => {
  const root = await makeRoot();
  const paths = pathsUnder(root);
  await using up = startUp(root);
  const printed = printedIn(await up.line(OPEN));
  await up.line(/^ready /);
  assert.equal(printed.user, "owner@localhost");
  const kept = await Deno.stat(paths.loginAccount);
  assert.equal((kept.mode ?? 0) & 0o777, 0o600);
  const env = await Deno.readTextFile(paths.env("webview-login"));
  assert.ok(!env.includes(printed.password), "the role is given the hash alone");

  const wrong = await logIn({ ...printed, password: "not the password" });
  assert.equal(wrong.status, 401);
  const done = await logIn(printed);
  assert.deepEqual([done.status, done.headers.get("location")], [303, "/"]);
  const cookie = cookieOf(done, "wv_session");

  const { url } = printed;
  const cockpit = (await Deno.readTextFile(paths.rolesFile)).match(/127\.0\.0\.1:\d+/)?.[0];
  const forged = await fetch(`http://${cockpit}/api/agents`, {
    headers: { "x-user-email": "owner@localhost" },
  });
  await forged.body?.cancel();
  assert.equal(forged.status, 403, "the header alone is not believed");

  const agents = await (await fetch(`${url}/api/agents`, { headers: { cookie } })).json();
  assert.deepEqual(agents.agents.map((card: { agent: string }) => card.agent), ["ada"]);
  const events = await fetch(`${url}/events?topics=transcript:ada`, {
    headers: { cookie, accept: "text/event-stream" },
  });
  assert.equal(events.status, 200);
  const queued = await fetch(`${url}/api/turns`, {
    method: "POST",
    headers: {
      cookie,
      origin: url,
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
    },
    body: JSON.stringify({ agent: "ada", text: "what can you do" }),
  });
  assert.equal(queued.status, 202, await queued.text());
  const seen = await readUntil(events, "turn_ended");
  assert.ok(seen.some(({ event }) => event === "message"), JSON.stringify(seen));

  const watched = await fetch(`${url}/events`, { headers: { cookie } });
  const reader = watched.body!.getReader();
  await reader.read();
  const out = await fetch(`${url}/auth/logout`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie, origin: url },
  });
  await out.body?.cancel();
  assert.equal(out.status, 303);
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
    throw new Error("ended");
  });
  const after = await fetch(`${url}/api/agents`, { headers: { cookie } });
  await after.body?.cancel();
  assert.equal(after.status, 401);

  const status = await runVerb(root, ["status"]);
  assert.match(status.stdout, /login/);
});

Deno.test("up prints its password again, and reports when an operator set another", async () => {
  const root = await makeRoot();
  const lines: string[] = [];
  for (let round = 0; round < 2; round++) {
    await using up = startUp(root);
    lines.push(printedIn(await up.line(OPEN)).password);
    await up.line(/^ready /);
    assert.equal(await up.stop(), 0, up.text());
  }
  assert.equal(lines[0], lines[1]);
  const set = await runVerb(root, [
    "secret",
    "set",
    "WEBVIEW_BASIC_USERS",
    "--value",
    "owner@localhost:another one",
  ]);
  assert.equal(set.code, 0, set.stderr);
  await using up = startUp(root);
  await up.line(
    /^open http:\/\/localhost:\d+ {2}user owner@localhost {2}password as set with WEBVIEW_BASIC_USERS$/,
  );
  assert.ok(!up.text().includes(lines[0] ?? "-"));
});
