/**
 * The dial unit's approvals alone: time, restarts, a full disk, the wrong person, and requests of a
 * runtime through ACP. The full path of a call is in `tests/units/mcp/approval_test.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { byteLength } from "core/text/cut_text.ts";
import { localRequest } from "core/dial/local_frames.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import { pathsUnder } from "core/paths.ts";
import { err } from "core/result.ts";
import { refusal } from "core/errors.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { overSocket } from "tests/units/dial/over_socket.ts";
import { type Approvals, openApprovals, type Question } from "units/dial/approvals.ts";
import { answerApprovals } from "units/dial/local_approvals.ts";
import { createPermissionEndpoint } from "units/dial/permission.ts";
import { joinApprovalStores } from "units/dial/approval_stores.ts";
import { openDialStore } from "units/dial/store.ts";

const CALL = {
  mcp: "bench",
  version: "1.0.0",
  tool: "write",
  arguments: { n: 1 },
  origin: { kind: "direct" },
} as const;
const OF = { policy: "p", isDestructive: true };
const ASKS = { runtime: "runtime-x", mode: "changes", workspace: () => undefined } as const;
const YES = { decision: "approved", by: "the operator", surface: "cli" } as const;

async function bench(host = memoryHost()) {
  const store = await openDialStore(host.databases, "/dial.db", "epoch");
  const waiting: boolean[] = [];
  const open = () =>
    openApprovals({
      agent: "mia",
      store,
      clock: host.clock,
      random: host.random,
      log: host.log,
      onStored: () => {},
      onWaiting: (isWaiting) => waiting.push(isWaiting),
    });
  const kinds = () =>
    store.read(1, store.last()).map(({ kind, payload }) => `${kind} ${payload.state ?? ""}`.trim());
  return { host, store, open, approvals: open(), waiting, kinds };
}

async function asked(approvals: Approvals, call: typeof CALL = CALL): Promise<Question> {
  const question = await approvals.ask(call, OF);
  assert.ok(question.ok, JSON.stringify(question));
  return question.value;
}
const codeOf = (result: { readonly ok: boolean; readonly error?: { readonly code: string } }) =>
  result.ok ? "ok" : result.error?.code;

Deno.test("without a decision an approval expires, which denies the call", async () => {
  const { host, approvals, waiting, kinds } = await bench();
  const question = await asked(approvals);
  await host.clock.advance(APPROVAL_LIMITS.askSeconds * 1000 - 1);
  assert.equal(approvals.find(question.approval.id)?.state, "asked");
  await host.clock.advance(1);
  assert.deepEqual(await question.outcome, { kind: "expired" });
  const { id, digest } = question.approval;
  assert.equal(codeOf(approvals.decide({ ...YES, id, digest })), "approval-expired");
  assert.equal(codeOf(question.use(digest)), "approval-not-given");
  assert.deepEqual(kinds(), ["approval_asked", "approval_ended expired"]);
  assert.deepEqual(waiting, [true, false]);
});

Deno.test("an approval is used once, for the call it is about, and soon", async () => {
  const { host, approvals } = await bench();
  const first = await asked(approvals);
  const { id, digest } = first.approval;
  assert.ok(approvals.decide({ ...YES, id, digest }).ok);
  assert.equal((await first.outcome).kind, "approved");
  assert.ok(first.delivered().ok);
  assert.ok(first.use(digest).ok);
  assert.equal(codeOf(first.use(digest)), "approval-used");

  const changed = await asked(approvals);
  const of = changed.approval;
  approvals.decide({ ...YES, id: of.id, digest: of.digest });
  changed.delivered();
  // First a call with one argument changed after the approval, then the right call, which is too
  // late.
  assert.equal(codeOf(changed.use(digest.replace(/./, "z"))), "approval-other-call");
  assert.equal(codeOf(changed.use(of.digest)), "approval-superseded");

  const stale = await asked(approvals);
  approvals.decide({ ...YES, id: stale.approval.id, digest: stale.approval.digest });
  stale.delivered();
  await host.clock.advance(APPROVAL_LIMITS.useSeconds * 1000);
  assert.equal(codeOf(stale.use(stale.approval.digest)), "approval-expired");
});

Deno.test("a restart supersedes open and decided approvals, which are never used", async () => {
  const { approvals, open, kinds } = await bench();
  const first = await asked(approvals);
  const second = await asked(approvals);
  const { id, digest } = second.approval;
  approvals.decide({ ...YES, id, digest });
  // The process has ended; another one opens the same database.
  const again = open();
  assert.deepEqual(again.list().map(({ state }) => state), ["superseded", "superseded"]);
  assert.equal(
    codeOf(again.decide({ ...YES, id: first.approval.id, digest })),
    "approval-superseded",
  );
  assert.equal(codeOf(second.use(digest)), "approval-superseded");
  assert.deepEqual(kinds().slice(-2), ["approval_ended superseded", "approval_ended superseded"]);
});

Deno.test("an approval that cannot be stored is not requested, decided or used", async () => {
  const { host, store } = await bench();
  let isFull = true;
  const approvals = openApprovals({
    agent: "mia",
    clock: host.clock,
    random: host.random,
    log: host.log,
    store: {
      approvals: store.approvals,
      runningTurns: () => [],
      append: (...given) =>
        isFull
          ? err(refusal("storage-full", "Cannot store the event: no space left on the disk"))
          : store.append(...given),
    },
    onStored: () => {},
    onWaiting: () => {},
  });
  assert.equal(codeOf(await approvals.ask(CALL, OF)), "storage-full");
  isFull = false;
  const question = await asked(approvals);
  const { id, digest } = question.approval;
  isFull = true;
  assert.equal(codeOf(approvals.decide({ ...YES, id, digest })), "storage-full");
  isFull = false;
  assert.ok(approvals.decide({ ...YES, id, digest }).ok);
  assert.ok(question.delivered().ok);
  isFull = true;
  assert.equal(codeOf(question.use(digest)), "storage-full");
  isFull = false;
  assert.ok(question.use(digest).ok);
});

Deno.test("questions are bounded in number and in size", async () => {
  const { approvals } = await bench();
  const large = { ...CALL, arguments: { text: "x".repeat(APPROVAL_LIMITS.argumentsBytesMax) } };
  assert.equal(codeOf(await approvals.ask(large, OF)), "approval-unavailable");
  let deep: unknown = 1;
  for (let level = 0; level < 1_000; level++) deep = [deep];
  assert.equal(
    codeOf(await approvals.ask({ ...CALL, arguments: { deep } }, OF)),
    "approval-unavailable",
  );
  for (let n = 0; n < APPROVAL_LIMITS.openMax; n++) await asked(approvals);
  assert.equal(codeOf(await approvals.ask(CALL, OF)), "approval-unavailable");
});

Deno.test("a decision about an unknown approval is refused to the decider", async () => {
  const { approvals, kinds } = await bench();
  assert.equal(codeOf(approvals.decide({ ...YES, id: "lost", digest: "d" })), "approval-unknown");
  assert.deepEqual(kinds(), ["approval_ended superseded"]);
});

Deno.test("the agent cannot decide about an approval", async () => {
  const { approvals } = await bench();
  const question = await asked(approvals);
  const { id, digest } = question.approval;
  const decide = localRequest.parse({
    type: "approval_decide",
    id,
    digest,
    decision: "approved",
    by: "me",
  });
  assert.ok(decide.type === "approval_decide");
  const answerTo = (request: typeof decide, mayDecide: boolean) => {
    const answer = answerApprovals(request, approvals, { agent: "mia", mayDecide });
    return answer.type === "error" ? answer.code : answer.type;
  };
  assert.equal(answerTo(decide, false), "approval-not-yours");
  // A link in a home can lead root to another agent's dial unit.
  assert.equal(answerTo({ ...decide, agent: "ada" }, true), "agent-mismatch");
  assert.equal(answerTo({ ...decide, agent: "mia" }, true), "approval_result");

  // The same over the socket, where the kernel reports the peer's identity.
  for (
    const [uid, isRootless, want] of [
      [1000, false, "approval-not-yours"],
      [1000, true, "approval-decided"],
      [0, false, "approval-decided"],
    ] as const
  ) {
    assert.match(await overSocket({ uid, isRootless, approvals }, decide), new RegExp(want));
  }
});

Deno.test("a runtime's permission request is an approval like any other", async () => {
  const paths = pathsUnder("/");
  const host = memoryHost({
    files: {
      "/etc/fleetctl/gate/git.json":
        '{"mcp":"git","version":"1","rules":{"git_clean":"block","git_push":"ask"}}',
    },
  });
  const { approvals } = await bench(host);
  const endpoint = createPermissionEndpoint({
    ...ASKS,
    paths,
    files: host.files,
    log: host.log,
  });
  const request = (command: string) =>
    endpoint.decide({ callId: "c", tool: "shell", title: "Run a command", arguments: { command } });
  assert.equal((await request("ls")).decision, "deny", "the approvals are not open yet");
  endpoint.open(approvals);
  // A rule that blocks does not ask a person.
  const blocked = await request("fleetctl mcp call git git_clean self");
  assert.ok(blocked.decision === "deny" && blocked.reason.includes("risk: block"));
  assert.equal(approvals.list().length, 0);
  const reason = 'Cannot call tool "shell": the operator denied it: not today; nothing was done';
  for (
    const [decision, want] of [
      ["approved", { decision: "allow" }],
      ["denied", { decision: "deny", reason }],
    ] as const
  ) {
    const answer = request("make deploy");
    const waiting = await untilAsked(approvals);
    assert.deepEqual([waiting.mcp, waiting.tool, waiting.version], ["", "shell", "runtime-x"]);
    assert.deepEqual(waiting.arguments, { command: "make deploy" });
    const { id, digest } = waiting;
    approvals.decide({ ...YES, decision, id, digest, reason: "not today" });
    assert.deepEqual(await answer, want);
  }
});

Deno.test("a call through fleetctl's proxy is left to it, and a blocked one denied", async () => {
  const host = memoryHost({
    files: {
      "/etc/fleetctl/gate/git.json":
        '{"mcp":"git","version":"1","rules":{"git_clean":"block","git_push":"ask"}}',
    },
  });
  const { approvals } = await bench(host);
  const { files, log } = host;
  const endpoint = createPermissionEndpoint({
    ...ASKS,
    paths: pathsUnder("/"),
    files,
    log,
  });
  endpoint.open(approvals);
  const ask = (mcp: string, tool: string) =>
    endpoint.decide({ callId: "c", mcp, isProxied: true, tool, title: tool, arguments: {} });
  assert.deepEqual(await ask("git", "git_log"), { decision: "allow" });
  assert.deepEqual(await ask("git", "git_push"), { decision: "allow" });
  const blocked = await ask("git", "git_clean");
  assert.ok(blocked.decision === "deny" && blocked.reason.includes('"git_clean" of MCP "git"'));
  const unknown = await ask("fs", "read");
  assert.ok(unknown.decision === "deny" && unknown.reason.includes("permission gate is missing"));
  assert.equal(approvals.list().length, 0);
});

Deno.test("a call of an MCP without fleetctl's proxy is decided by the gate here", async () => {
  const rules = (push: string) =>
    `{"mcp":"pages","version":"http","rules":{"wipe":"block","push":"${push}"},` +
    `"accepted":{"read":"1","push":"2","wipe":"3"}}`;
  const file = "/etc/fleetctl/gate/pages.json";
  const host = memoryHost({ files: { [file]: rules("ask") } });
  const { approvals } = await bench(host);
  const { files, log } = host;
  const endpoint = createPermissionEndpoint({
    ...ASKS,
    paths: pathsUnder("/"),
    files,
    log,
  });
  endpoint.open(approvals);
  const ask = (mcp: string, tool: string) =>
    endpoint.decide({ callId: "c", mcp, tool, title: tool, arguments: { to: "main" } });
  const denied = async (tool: string, words: string) => {
    const answer = await ask("pages", tool);
    assert.ok(answer.decision === "deny" && answer.reason.includes(words), JSON.stringify(answer));
  };
  assert.deepEqual(await ask("pages", "read"), { decision: "allow" });
  await denied("wipe", 'declared "risk: block"');
  await denied(" WIPE", 'declared "risk: block"');
  await denied("new", "not among the accepted tools");
  assert.equal(approvals.list().length, 0);

  const first = ask("pages", "push");
  const { id, digest, mcp, tool, arguments: given } = await untilAsked(approvals);
  assert.deepEqual([mcp, tool, given], ["pages", "push", { to: "main" }]);
  approvals.decide({ ...YES, id, digest });
  assert.deepEqual(await first, { decision: "allow" });

  // An approval under other rules does not count.
  const second = ask("pages", "push");
  const open = await untilAsked(approvals);
  await files.write(file, rules("block"));
  approvals.decide({ ...YES, id: open.id, digest: open.digest });
  assert.equal((await second).decision, "deny");

  await files.write(file, "{");
  await denied("read", "not valid JSON");
});

Deno.test("a call of an unwired server with a known name needs an approval", async () => {
  const gate = '{"mcp":"git","version":"1","rules":{"git_clean":"block"}}';
  const host = memoryHost({ files: { "/etc/fleetctl/gate/git.json": gate } });
  const { approvals } = await bench(host);
  const { files, log } = host;
  const endpoint = createPermissionEndpoint({
    ...ASKS,
    paths: pathsUnder("/"),
    files,
    log,
  });
  endpoint.open(approvals);
  const asked = { callId: "c", mcp: "git", isProxied: false, title: "", arguments: {} };
  const blocked = await endpoint.decide({ ...asked, tool: "git_clean" });
  assert.equal(blocked.decision, "deny");
  // `mcp__git__x__y` may mean git, or a server that an agent named `git__x`.
  const answer = endpoint.decide({ ...asked, tool: "x__y" });
  const { id, digest, tool, mcp } = await untilAsked(approvals);
  assert.deepEqual([mcp, tool], ["", "git.x__y"]);
  approvals.decide({ ...YES, decision: "denied", id, digest });
  assert.equal((await answer).decision, "deny");
});

Deno.test("the dial unit closes a question that the runtime withdraws", async () => {
  const host = memoryHost();
  const { approvals } = await bench(host);
  const { files, log } = host;
  const endpoint = createPermissionEndpoint({
    ...ASKS,
    paths: pathsUnder("/"),
    files,
    log,
  });
  endpoint.open(approvals);
  const over = new AbortController();
  const asked = { callId: "c", tool: "shell", title: "", arguments: { command: "ls" } };
  const answer = endpoint.decide(asked, over.signal);
  const { id } = await untilAsked(approvals);
  over.abort();
  assert.equal(approvals.find(id)?.state, "superseded");
  assert.equal((await answer).decision, "deny");
  assert.equal((await endpoint.decide(asked, over.signal)).decision, "deny");
  assert.equal(approvals.hasOpen(), false);
});

Deno.test("the reason of a decision, and who made it, are bounded in bytes", async () => {
  const { approvals } = await bench();
  const question = await approvals.ask(CALL, { policy: "p", isDestructive: true });
  assert.ok(question.ok);
  const { id, digest } = question.value.approval;
  const long = "é".repeat(99_999);
  approvals.decide({ ...YES, decision: "denied", id, digest, reason: long, by: long });
  const verdict = approvals.find(id)?.verdict;
  assert.deepEqual([byteLength(verdict?.reason ?? ""), byteLength(verdict?.by ?? "")], [4000, 512]);
});

Deno.test("a call of an unwired server needs an approval", async () => {
  const host = memoryHost({ files: { "/etc/fleetctl/secret.json": "{}" } });
  const { approvals } = await bench(host);
  const { files, log } = host;
  const endpoint = createPermissionEndpoint({
    ...ASKS,
    paths: pathsUnder("/"),
    files,
    log,
  });
  endpoint.open(approvals);
  for (const mcp of ["own", "../secret"]) {
    const asked = { callId: "c", mcp, isProxied: mcp !== "own", tool: "read", title: "" };
    const answer = endpoint.decide({ ...asked, arguments: { a: 1 } });
    const { id, digest, tool, mcp: shown } = await untilAsked(approvals);
    assert.deepEqual([shown, tool], ["", `${mcp}.read`]);
    approvals.decide({ ...YES, decision: "denied", id, digest });
    assert.equal((await answer).decision, "deny");
  }
});

Deno.test("a question without arguments says that they are unknown", async () => {
  const host = memoryHost();
  const { approvals } = await bench(host);
  const { files, log } = host;
  const endpoint = createPermissionEndpoint({
    ...ASKS,
    paths: pathsUnder("/"),
    files,
    log,
  });
  endpoint.open(approvals);
  const asked = { callId: "c", tool: "edit", title: "Edit a file" };
  const answer = endpoint.decide({ ...asked, arguments: {} });
  const { id, digest, arguments: shown } = await untilAsked(approvals);
  assert.deepEqual(shown, {
    title: "Edit a file",
    note: "the program asks without the arguments of the call",
  });
  approvals.decide({ ...YES, id, digest });
  assert.deepEqual(await answer, { decision: "allow" });
});

/** Waits for the question, which follows a few file reads. */
async function untilAsked(approvals: Approvals) {
  for (;;) {
    const found = approvals.list().find(({ state }) => state === "asked");
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

Deno.test("list() orders the approvals of all gateways by time, then limits them", async () => {
  const host = memoryHost();
  const own = await openDialStore(host.databases, "/dial.db", "epoch");
  const teams = await openDialStore(host.databases, "/teamchat.db", "epoch");
  const approvals = openApprovals({
    agent: "mia",
    store: joinApprovalStores(own, teams),
    clock: host.clock,
    random: host.random,
    log: host.log,
    onStored: () => {},
    onWaiting: () => {},
  });
  teams.accept({ turnId: "t1", text: "go", origin: "owner" });
  teams.append([], { turnId: "t1", to: "running" });
  const inTeams = await asked(approvals);
  await host.clock.advance(1);
  teams.append([], { turnId: "t1", to: "ended" });
  const inOwn = await asked(approvals);
  const ids = () => approvals.list().map(({ id }) => id);
  assert.deepEqual(ids(), [inTeams.approval.id, inOwn.approval.id], "open ones, oldest first");
  for (let n = 0; n < 60; n++) {
    await host.clock.advance(1);
    (await asked(approvals)).withdraw();
  }
  await host.clock.advance(1);
  teams.accept({ turnId: "t2", text: "go", origin: "owner" });
  teams.append([], { turnId: "t2", to: "running" });
  const last = await asked(approvals);
  last.withdraw();
  assert.equal(ids()[2], last.approval.id, "the newest one that has ended");
  assert.equal(ids().length, 52);
  approvals.close();
});
