/**
 * @module
 */

import assert from "node:assert/strict";
import { batchesOf } from "units/reconcile/batches.ts";
import type { Step } from "units/reconcile/step.ts";

const unit = (kind: "start" | "stop" | "enable" | "bounce" | "restart", name: string): Step => ({
  kind,
  unit: name,
  ...(name.startsWith("dial") ? { isIndependent: true } : {}),
});

function shape(steps: readonly Step[]): readonly string[] {
  return batchesOf(steps).map((batch) => {
    const [first] = batch.steps[0] ?? [];
    return `${batch.how} ${first?.kind} ${batch.steps.length}`;
  });
}

const many = (count: number, kind: "start" | "stop" | "enable", name: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => unit(kind, name(index)));

Deno.test("batchesOf() puts neighbours of one kind into one call, in the order of the plan", () => {
  assert.deepEqual(
    shape([
      ...Array.from({ length: 40 }, (_, index): Step => (
        { kind: "write", path: `/${index}`, text: "", mode: 0o644, owner: undefined }
      )),
      { kind: "remove", path: "/a" },
      { kind: "remove", path: "/b" },
      ...many(3, "stop", (index) => `dial-${index}.service`),
      ...many(450, "enable", (index) => `${index}.socket`),
      { kind: "reload" },
      ...many(2, "start", (index) => `${index}.socket`),
      unit("bounce", "x.socket"),
      unit("bounce", "y.socket"),
      unit("start", "gateway.service"),
      unit("restart", "login.service"),
      ...many(10, "start", (index) => `dial-${index}.service`),
    ]),
    [
      "parallel write 32",
      "parallel write 8",
      "parallel remove 1",
      "parallel remove 1",
      "combined stop 3",
      "combined enable 200",
      "combined enable 200",
      "combined enable 50",
      "parallel reload 1",
      "combined start 2",
      "combined bounce 2",
      "parallel start 1",
      "parallel restart 1",
      "parallel start 8",
      "parallel start 2",
    ],
  );
});

Deno.test("batchesOf() never makes a folder in the same call as its parent", () => {
  const folder = (path: string): Step => ({ kind: "folder", path, mode: 0o700, owner: undefined });
  const steps = ["/a", "/ab", "/a/b", "/b", "/b/c/d"].map(folder);
  assert.deepEqual(shape(steps), ["parallel folder 2", "parallel folder 2", "parallel folder 1"]);
});

Deno.test("batchesOf() keeps the position of each step in the plan", () => {
  const steps = [...many(3, "enable", (index) => `${index}.socket`), unit("start", "a.service")];
  assert.deepEqual(
    batchesOf(steps).flatMap((batch) => batch.steps.map(([step, index]) => [step, index])),
    steps.map((step, index) => [step, index]),
  );
});
