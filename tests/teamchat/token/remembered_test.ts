/**
 * Tokens that were valid before are cached, and only these exact tokens match the cache.
 *
 * @module
 */

import assert from "node:assert/strict";
import { teamchatTest as test } from "tests/teamchat/fixture.ts";

test(
  "a token that only resembles a cached one is refused",
  async (at) => {
    const good = await at.kit.keys.token(at.kit.serviceUrl);
    const post = async (token: string, scheme = "Bearer") =>
      (await at.post(at.message("x"), { authorization: `${scheme} ${token}` })).status;
    for (let n = 0; n < 3; n++) assert.equal(await post(good), 202);
    const [header = "", claims = "", signature = ""] = good.split(".");
    const other = (text: string) => (text.startsWith("A") ? "B" : "A") + text.slice(1);
    assert.equal(await post([header, other(claims), signature].join(".")), 401);
    assert.equal(await post([header, claims, other(signature)].join(".")), 401);
    assert.equal(await post(`${good}A`), 401);
    assert.equal(await post(good.slice(-16)), 401);
    assert.equal(await post(good, "Basic"), 401);
    assert.equal(await post(good, "bearer"), 202);
    assert.equal(await post(good), 202);
  },
);

test(
  "more tokens than the cache holds are all accepted, again and again",
  async (at) => {
    const tokens = await Promise.all(
      Array.from(
        { length: 12 },
        (_, n) => at.kit.keys.token(at.kit.serviceUrl, { claims: { jti: String(n) } }),
      ),
    );
    for (const token of [...tokens, ...tokens, ...tokens]) {
      const answer = await at.post(at.message("x"), { authorization: `Bearer ${token}` });
      assert.equal(answer.status, 202);
    }
    const counted = (result: string) => at.teamchat.metrics.value("tokens", { result });
    assert.deepEqual([counted("fresh"), counted("cached")], [12, 24]);
  },
);
