/**
 * `fleetctl host list`: the markers of this host, and the gateway host that each one names. Changes
 * nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import {
  type HostMarkers,
  isGatewayHost,
  type Marker,
  parseMarkers,
  printGatewayMarker,
} from "core/ledger/markers.ts";
import { ok, type Result } from "core/result.ts";

/** The verb has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Reads `host.yaml`. */
export async function run(context: VerbContext): Promise<Result<VerbReport>> {
  const { files, hostname } = context.ports;
  const { hostFile } = context.paths;
  const markers = parseMarkers(await files.readText(hostFile), hostFile);
  if (!markers.ok) return markers;
  const { webviewGateway, teamsGateway, isDialKeyRequired } = markers.value;
  const rows = [
    ["webview_gateway", shown(markers.value), isGatewayHost(webviewGateway, hostname)],
    ["teams_gateway", teamsGateway, isGatewayHost(teamsGateway, hostname)],
  ] as const satisfies readonly (readonly [Marker, string | undefined, boolean])[];
  return ok({
    json: {
      hostname,
      markers: Object.fromEntries(rows.map(([marker, value]) => [marker, value ?? null])),
      dial_require_key: isDialKeyRequired,
    },
    blocks: [{
      kind: "table",
      columns: ["marker", "value", "the gateway is"],
      rows: rows.map(([marker, value, isHere]): readonly Cell[] => [
        `host.${marker}`,
        value ?? { text: "not set", tone: "dim" },
        isHere ? `this host, ${hostname}` : "another host",
      ]).concat([[
        "host.dial_require_key",
        isDialKeyRequired ? "true" : { text: "false", tone: "dim" },
        {
          text: isDialKeyRequired
            ? "agents must prove a key"
            : "agents need none until they prove one",
          tone: "dim",
        },
      ]]),
      empty: "",
    }],
  });
}

function shown({ webviewGateway }: HostMarkers): string | undefined {
  return webviewGateway === undefined ? undefined : printGatewayMarker(webviewGateway);
}
