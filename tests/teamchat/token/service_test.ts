/**
 * The scope of a delivery's token: the activity's service URL, its channel and its tenant. A token
 * that is valid elsewhere is refused here, and its owner's answers are sent nowhere else.
 *
 * @module
 */

import { TENANT } from "tests/teamchat/connector/keys.ts";
import { accepted, type Case, refused } from "tests/teamchat/token/cases.ts";

const REFUSED: readonly Case[] = [
  {
    name: "no service URL in the token",
    status: 403,
    given: { claims: { serviceurl: undefined } },
  },
  moved("another host in the activity", "https://evil.test/teams/"),
  moved("another port in the activity", "http://127.0.0.1:10/teams/"),
  moved("another scheme in the activity", "https://127.0.0.1:9/teams/"),
  moved("another path in the activity", "http://127.0.0.1:9/other/"),
  foreign("a foreign host in both", "https://evil.test/teams/"),
  foreign("a look-alike host", "https://smba.trafficmanager.net.evil.test/teams/"),
  foreign("a user name", "http://a@127.0.0.1:9/teams/"),
  foreign("a final dot", "http://127.0.0.1.:9/teams/"),
  foreign("a name in another script", "https://smbа.trafficmanager.net/teams/"),
  foreign("a look-alike name in punycode", "https://xn--smb-8cd.trafficmanager.net/teams/"),
  foreign("an address", "https://10.0.0.1/teams/"),
  foreign("an IPv6 address", "https://[2001:db8::1]/teams/"),
  foreign("the platform's host without TLS", "http://smba.trafficmanager.net/teams/"),
  foreign("a query", "http://127.0.0.1:9/teams/?x=1"),
  foreign("dots in the path", "http://127.0.0.1:9/teams/../x/"),
  foreign("a backslash", "http://127.0.0.1:9\\@evil.test/"),
  {
    name: "a key that is endorsed for nothing",
    status: 403,
    given: { key: (keys) => keys.make("key-2", { endorsements: undefined }) },
  },
  {
    name: "a key that is endorsed for another channel",
    status: 403,
    given: { key: (keys) => keys.make("key-3", { endorsements: ["webchat"] }) },
  },
  {
    name: "another channel with a forged owner",
    status: 403,
    given: {
      key: (keys) => keys.make("key-4", { endorsements: ["webchat", "msteams"] }),
      activity: { channelId: "webchat" },
    },
  },
  { name: "channel emulator", status: 403, given: { activity: { channelId: "emulator" } } },
  { name: "no channel", status: 403, given: { activity: { channelId: undefined } } },
  {
    name: "another tenant",
    status: 403,
    given: {
      activity: {
        conversation: { id: "a:bea", conversationType: "personal", tenantId: "other" },
        channelData: {},
      },
    },
  },
  {
    name: "two tenants",
    status: 403,
    given: {
      activity: {
        conversation: { id: "a:bea", conversationType: "personal", tenantId: TENANT },
        channelData: { tenant: { id: "other" } },
      },
    },
  },
  {
    name: "no tenant",
    status: 403,
    given: {
      activity: { conversation: { id: "a:bea", conversationType: "personal" }, channelData: {} },
    },
  },
];

/** An activity whose answers would be sent to another address than the token states. */
function moved(name: string, serviceUrl: string): Case {
  const claims = { serviceurl: "http://127.0.0.1:9/teams/" };
  return { name, status: 403, given: { claims, activity: { serviceUrl } } };
}

/** A token and an activity that agree on an address outside the cloud. */
function foreign(name: string, serviceUrl: string): Case {
  const claims = { serviceurl: serviceUrl };
  return { name, status: 403, given: { claims, activity: { serviceUrl } } };
}

refused(REFUSED);

const ACCEPTED: readonly Case[] = [
  {
    name: "serviceUrl in mixed case",
    status: 202,
    given: { claims: { serviceurl: undefined, serviceUrl: "http://127.0.0.1:9/teams/" } },
  },
  {
    name: "a slash less",
    status: 202,
    given: { claims: { serviceurl: "http://127.0.0.1:9/teams" } },
  },
];

accepted(ACCEPTED);
