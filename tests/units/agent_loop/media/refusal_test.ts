/**
 * Which endpoint failures mean that it refused the images of a request.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { MediaRef } from "units/agent_loop/media/media.ts";
import { MediaMemory, mediaRefusal } from "units/agent_loop/media/refusal.ts";
import type { ModelFault, ModelFaultCode } from "units/agent_loop/model/fault.ts";

const IMAGE: MediaRef = {
  kind: "image",
  media_type: "image/png",
  sha256: "0".repeat(64),
  bytes: 100,
  width: 10,
  height: 10,
};

const fault = (code: ModelFaultCode, reason: string): ModelFault => ({
  code,
  reason,
  hints: [],
  isRetryable: false,
  retryAfterMs: undefined,
});

const REFUSED = "model-request-refused";
/** Messages of known endpoints. */
const CASES: readonly (readonly [ModelFaultCode, string, "kind" | "request" | undefined])[] = [
  [REFUSED, "Invalid content type. image_url is only supported by certain models.", "kind"],
  [REFUSED, "unknown variant `image_url`, expected `text`", "kind"],
  [REFUSED, "At most 0 image(s) may be provided in one prompt.", "kind"],
  [REFUSED, "my-model is not a multimodal model", "kind"],
  [REFUSED, "messages[0].content: Input should be a valid string", "kind"],
  [REFUSED, "Expected last role to be assistant, got role 'user' after role 'tool'", "kind"],
  ["model-not-found", "No endpoints found that support image input", "kind"],
  ["model-overloaded", "image input is not supported - hint: you need the mmproj", "kind"],
  [REFUSED, "messages.0.content.0.image: Could not process image", "request"],
  [REFUSED, "image exceeds 5 MB maximum", "request"],
  ["model-overloaded", "The server had an error while reading an image", undefined],
  [REFUSED, "temperature: must be at most 1", undefined],
  ["model-unauthorized", "this key supports no images", undefined],
  ["model-rate-limited", "too many images", undefined],
];

for (const [code, reason, scope] of CASES) {
  Deno.test(`mediaRefusal(): ${reason}: ${scope ?? "no refusal of images"}`, () => {
    assert.equal(mediaRefusal(fault(code, reason), [IMAGE])?.scope, scope);
  });
}

Deno.test("mediaRefusal() needs images in the request", () => {
  assert.equal(mediaRefusal(fault(REFUSED, "images are not supported"), []), undefined);
});

Deno.test("MediaMemory hides a kind, or only the refused images", () => {
  const session = new MediaMemory();
  const memory = session.of("m");
  memory.refuse({ kind: "image", scope: "request" }, [IMAGE]);
  assert.deepEqual([...memory.rules(["image"]).accepts], ["image"]);
  assert.deepEqual([...memory.rules(["image"]).refused], [IMAGE.sha256]);
  memory.refuse({ kind: "image", scope: "kind" }, [IMAGE]);
  assert.deepEqual([...memory.rules(["image"]).accepts], []);
  assert.deepEqual([...session.of("other").rules(["image"]).accepts], ["image"]);
});
