/**
 * The caller behind a uid, and which agents it may act as.
 *
 * @module
 */

import assert from "node:assert/strict";
import { actAs, type Caller, callerFor, callerText } from "core/verbs/caller.ts";
import { ADMIN, AGENT, agentNamed, GATEWAY, OPERATOR, OTHER } from "tests/core/verbs/callers.ts";

const ada = { name: agentNamed("ada"), isAdmin: false };
const zoe = { name: agentNamed("zoe"), isAdmin: true };

const WHO: readonly [name: string, facts: Parameters<typeof callerFor>[0], want: Caller["kind"]][] =
  [
    [
      "root on a real host",
      { uid: 0, root: "/", rootOwner: undefined, agent: undefined },
      "operator",
    ],
    [
      "root under another root",
      { uid: 0, root: "/x", rootOwner: 1000, agent: undefined },
      "operator",
    ],
    [
      "the owner of another root",
      { uid: 1000, root: "/x", rootOwner: 1000, agent: undefined },
      "operator",
    ],
    [
      "another user under another root",
      { uid: 1001, root: "/x", rootOwner: 1000, agent: ada },
      "other",
    ],
    ["a user under a root without an owner", {
      uid: 1001,
      root: "/x",
      rootOwner: undefined,
      agent: undefined,
    }, "other"],
    ["the owner of the folder /", {
      uid: 1000,
      root: "/",
      rootOwner: 1000,
      agent: undefined,
    }, "other"],
    [
      "the gateway's user",
      { uid: 990, root: "/", rootOwner: undefined, agent: undefined, isGateway: true },
      "gateway",
    ],
    [
      "the gateway's user under another root",
      { uid: 990, root: "/x", rootOwner: 1000, agent: undefined, isGateway: true },
      "other",
    ],
    ["an agent", { uid: 1002, root: "/", rootOwner: undefined, agent: ada }, "agent"],
    ["an admin agent", { uid: 1001, root: "/", rootOwner: undefined, agent: zoe }, "admin"],
  ];

for (const [name, facts, want] of WHO) {
  Deno.test(`callerFor() returns ${want} for ${name}`, () => {
    assert.equal(callerFor(facts).kind, want);
  });
}

const AS: readonly [caller: Caller, as: typeof ada, want: Caller["kind"] | "denied"][] = [
  [OPERATOR, ada, "agent"],
  [OPERATOR, zoe, "admin"],
  [ADMIN, ada, "agent"],
  [ADMIN, zoe, "admin"],
  [ADMIN, { name: agentNamed("yan"), isAdmin: true }, "denied"],
  [AGENT, ada, "agent"],
  [AGENT, zoe, "denied"],
  [AGENT, { name: agentNamed("bea"), isAdmin: false }, "denied"],
  [GATEWAY, ada, "denied"],
  [OTHER, ada, "denied"],
];

for (const [caller, as, want] of AS) {
  Deno.test(`actAs() answers ${want} to ${callerText(caller)} as ${as.name}`, () => {
    const got = actAs(caller, as);
    if (!got.ok) {
      assert.equal(got.error.code, "act-as-denied");
      assert.equal(got.error.kind, "denied");
      return assert.equal(want, "denied");
    }
    assert.equal(got.value.kind, want);
    assert.equal(got.value.uid, caller.uid);
  });
}
