/**
 * The claims of a delivery's token: times, audience and issuer, one bad claim per test.
 *
 * @module
 */

import assert from "node:assert/strict";
import { teamchatTest as test } from "tests/teamchat/fixture.ts";
import { APP_ID, TENANT } from "tests/teamchat/connector/keys.ts";
import {
  accepted,
  type Case,
  deliver,
  MINUTE,
  offset,
  refused,
} from "tests/teamchat/token/cases.ts";

const FOREIGN_TENANT = "12345678-1234-4234-8234-123456789012";

const REFUSED: readonly Case[] = [
  {
    name: "an expired token, 6 minutes",
    status: 401,
    given: { claims: { exp: offset(-6 * MINUTE) } },
  },
  { name: "no exp", status: 401, given: { claims: { exp: undefined } } },
  { name: "exp as text", status: 401, given: { claims: { exp: "4102444800" } } },
  { name: "exp in ten years", status: 401, given: { claims: { exp: offset(10 * 365 * 86_400) } } },
  { name: "nbf in 6 minutes", status: 401, given: { claims: { nbf: offset(6 * MINUTE) } } },
  { name: "iat in 6 minutes", status: 401, given: { claims: { iat: offset(6 * MINUTE) } } },
  { name: "another audience", status: 401, given: { claims: { aud: "other" } } },
  { name: "no audience", status: 401, given: { claims: { aud: undefined } } },
  { name: "a list of audiences", status: 401, given: { claims: { aud: [APP_ID] } } },
  {
    name: "the connector as audience",
    status: 401,
    given: { claims: { aud: "https://api.botframework.com" } },
  },
  {
    name: "an alias that is not configured",
    status: 401,
    given: { claims: { aud: `api://botid-${APP_ID}` } },
  },
  { name: "another issuer", status: 401, given: { claims: { iss: "https://evil.test" } } },
  { name: "no issuer", status: 401, given: { claims: { iss: undefined } } },
  {
    name: "the issuer of another cloud",
    status: 401,
    given: { claims: { iss: "https://api.botframework.us" } },
  },
  {
    name: "the issuer with a slash",
    status: 401,
    given: { claims: { iss: "https://connector.test/" } },
  },
  {
    name: "a token of the own tenant",
    status: 401,
    given: { claims: { iss: `https://sts.windows.net/${TENANT}/` } },
  },
  {
    name: "a token of another tenant for this bot",
    status: 401,
    given: {
      claims: {
        iss: `https://sts.windows.net/${FOREIGN_TENANT}/`,
        tid: FOREIGN_TENANT,
        ver: "1.0",
        appid: APP_ID,
      },
    },
  },
  {
    name: "a token of the second version of the own tenant",
    status: 401,
    given: {
      claims: {
        iss: `https://login.microsoftonline.com/${TENANT}/v2.0`,
        tid: TENANT,
        ver: "2.0",
        azp: APP_ID,
      },
    },
  },
  {
    name: "a skill's token",
    status: 401,
    given: {
      claims: {
        iss: `https://sts.windows.net/${TENANT}/`,
        ver: "1.0",
        tid: TENANT,
        appid: FOREIGN_TENANT,
      },
    },
  },
  {
    name: "an emulator's token",
    status: 401,
    given: {
      claims: {
        iss: "https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/",
        ver: "1.0",
        appid: APP_ID,
      },
    },
  },
];

refused(REFUSED);

const ACCEPTED: readonly Case[] = [
  {
    name: "an expired token, 4 minutes",
    status: 202,
    given: { claims: { exp: offset(-4 * MINUTE) } },
  },
  { name: "nbf in 4 minutes", status: 202, given: { claims: { nbf: offset(4 * MINUTE) } } },
];

accepted(ACCEPTED);

const ALIAS = `api://botid-${APP_ID}`;

test(
  "an audience that is configured is accepted, another alias of the same bot is not",
  async (at) => {
    assert.equal((await deliver(at, { claims: { aud: ALIAS } })).status, 202);
    assert.equal((await deliver(at, { claims: { aud: `api://${APP_ID}` } })).status, 401);
    assert.equal((await deliver(at, {})).status, 202);
  },
  { env: { TEAMS_APP_ALIASES: ALIAS } },
);
