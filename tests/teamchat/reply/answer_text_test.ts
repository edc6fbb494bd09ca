/**
 * The shown part of an unfinished answer is bounded, whatever the agent sends.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { createShownText } from "teamchat/reply/answer_text.ts";

const { answerLengthMax } = TEAMCHAT_LIMITS;

Deno.test("endless pieces do not grow beyond the size of an answer", () => {
  const shown = createShownText("before");
  const piece = "x".repeat(answerLengthMax / 4);
  for (let n = 0; n < 100; n++) shown.delta("m1", piece, undefined);
  assert.equal(shown.text().length, "before\n\n".length + answerLengthMax);
  shown.delta("m2", "next", undefined);
  assert.equal(shown.text(), "before\n\nnext");
  shown.whole("m2", "before\n\nnext message");
  assert.equal(shown.text(), "before\n\nnext message");
});

Deno.test("a piece whose predecessor is lost ends the shown text of its message", () => {
  const shown = createShownText("");
  shown.delta("m1", "ab", 0);
  shown.delta("m1", "d", 3);
  shown.delta("m1", "c", 2);
  assert.equal(shown.text(), "ab");
});
