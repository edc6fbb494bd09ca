/**
 * Hosts as holders of dial keys: the keys that their own units prove to the gateway
 * (docs/adr/0014-the-unit-of-a-host.md).
 *
 * @module
 */

import type { KeyHolder } from "cli/dial_keys.ts";
import { changeHostKeys, HOST_KEYS_MAX } from "core/ledger/hosts.ts";
import { type HostName, parseHostName } from "core/names.ts";

/** The keys of hosts. */
export const HOST_KEYS: KeyHolder<HostName> = {
  kind: "host",
  word: "hostname",
  verbs: "fleetctl host key",
  keysMax: HOST_KEYS_MAX,
  canEnrollLater: false,
  parse: parseHostName,
  listing: () => "fleetctl host key list",
  record: ({ ports, paths }, { name, ...rest }) =>
    changeHostKeys(ports, paths, { ...rest, host: name }),
};
