/**
 * Reverting a change of a shard field by field: later changes of other fields stay, those of the
 * same field are conflicts, and comments and order survive.
 *
 * @module
 */

import assert from "node:assert/strict";
import { revertFields } from "core/ledger/revert_shard.ts";

const FILE = "agents.d/ada.yaml";
const BASE = "name: ada\nchannel: webview # ours\n";

const ROWS: readonly {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly current: string;
  readonly want: string | undefined;
}[] = [
  {
    name: "another field changed since",
    before: "",
    after: "model: m1\n",
    current: "model: m1\nprovider: p1 # later\n",
    want: "provider: p1 # later\n",
  },
  {
    name: "the field changed again",
    before: "model: m0\n",
    after: "model: m1\n",
    current: "model: m2\n",
    want: undefined,
  },
  {
    name: "the field already has its old value",
    before: "model: m0\n",
    after: "model: m1\n",
    current: "model: m0\nprovider: p1\n",
    want: "model: m0\nprovider: p1\n",
  },
  {
    name: "an MCP was added, and another one since",
    before: "tools:\n  add: [a]\n",
    after: "tools:\n  add: [a, b]\n",
    current: "tools:\n  add: [a, b, c]\n",
    want: "tools:\n  add: [a, c]\n",
  },
  {
    name: "an MCP was removed, and another one added since",
    before: "tools:\n  add: [a]\n",
    after: "",
    current: "tools:\n  add: [c]\n",
    want: "tools:\n  add: [c, a]\n",
  },
  {
    name: "an agent became an admin",
    before: "",
    after: "admin: true\n",
    current: "admin: true\nmodel: m1\n",
    want: "model: m1\n",
  },
  {
    name: "keys were revoked",
    before: `dial_keys: [${"A".repeat(43)}]\n`,
    after: "dial_keys: []\n",
    current: "dial_keys: []\nmodel: m1\n",
    want: undefined,
  },
  {
    name: "the shard cannot be read",
    before: "",
    after: "model: m1\n",
    current: "model: [\n",
    want: undefined,
  },
];

for (const { name, before, after, current, want } of ROWS) {
  Deno.test(`revertFields() ${want === undefined ? "gives up" : "works"} when ${name}`, () => {
    const texts = { before: BASE + before, after: BASE + after, current: BASE + current };
    assert.equal(revertFields(texts, FILE), want === undefined ? undefined : BASE + want);
  });
}
