/**
 * The certificate of the HTTPS front: when it is a problem, and the commands that fix it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { frontProblems, isNameOf } from "cli/status/front_certificate.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";

const DAY_MS = 86_400_000;
const NOW = Date.parse("2026-06-01T00:00:00Z");
const GATHERED = {
  roles: { login: { settings: { WEBVIEW_URL: "https://fleet.example.org" } } },
  markers: {},
} as unknown as Gathered;

async function problems(
  daysLeft: number,
  { names = ["fleet.example.org"], at = "127.0.0.1" } = {},
) {
  const ports = {
    ...memoryHost({
      now: NOW,
      programs: {
        cat: ({ args, print }) =>
          print(
            args[0]?.endsWith("comm") === true
              ? "nginx\n"
              : args[0]?.endsWith("cgroup") === true
              ? "0::/system.slice/nginx.service\n"
              : " 0: 00000000:01BB 00000000:0000 0A 0:0 00:0 0 0 0 77 1\n",
          ),
        find: ({ print }) => print("/proc/12/fd/3\n"),
      },
    }),
    readCertificate: async ({ address }: { readonly address: string }) => {
      if (address !== at) throw new Error("connection refused");
      return { fromMs: NOW - (90 - daysLeft) * DAY_MS, toMs: NOW + daysLeft * DAY_MS, names };
    },
  };
  return await frontProblems({ ports, paths: pathsUnder("/") } as unknown as VerbContext, GATHERED);
}

Deno.test("a certificate is a problem in its last tenth, and a fault once expired", async () => {
  assert.deepEqual(await problems(10), []);
  assert.equal((await problems(8))[0]?.code, "certificate-ends-soon");
  const [expired] = await problems(-2);
  assert.equal(expired?.code, "certificate-expired");
  assert.match(expired?.message ?? "", /^The certificate of https:\/\/fleet\.example\.org expired/);
  assert.match(expired?.details.join() ?? "", /served by nginx of nginx\.service on this host/);
  assert.deepEqual(expired?.hints, ["systemctl reload-or-restart nginx.service"]);
});

Deno.test("a listener that serves another name is not the front", async () => {
  assert.deepEqual(await problems(-2, { names: ["other.example.org"] }), []);
  const [elsewhere] = await problems(-2, { at: "fleet.example.org" });
  assert.match(elsewhere?.details.join() ?? "", /not on this host/);
});

Deno.test("a certificate's name covers a host by the rules of browsers", () => {
  assert.ok(isNameOf("Fleet.example.org", "fleet.EXAMPLE.org"));
  assert.ok(isNameOf("*.example.org", "fleet.example.org"));
  assert.ok(!isNameOf("*.example.org", "a.fleet.example.org"));
  assert.ok(!isNameOf("*.example.org", "example.org"));
});
