/**
 * The host file `host.yaml`: markers that name the gateway hosts, and `dial_require_key`. A marker
 * is a hostname, never an IP address, because a host compares it with its own hostname. The marker
 * of the webview gateway may state that the gateway is behind TLS: `wss://<hostname>[:port]`. Pure.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { createFieldReader } from "core/text/field_reader.ts";
import { refusal } from "core/errors.ts";
import { type HostName, nameFault, parseHostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";
import { editYaml, parseYaml } from "core/text/yaml.ts";

/** Markers that `host set` accepts. */
const MARKERS = ["webview_gateway", "teams_gateway"] as const;
/** One of `MARKERS`. */
export type Marker = typeof MARKERS[number];

/** The parsed marker `host.webview_gateway`. */
export interface GatewayMarker {
  readonly host: HostName;
  readonly isTls: boolean;
  /** Undefined unless the marker states a port. */
  readonly port: number | undefined;
}

/** Contents of `host.yaml`. Without a marker, this host is its own gateway. */
export interface HostMarkers {
  readonly webviewGateway?: GatewayMarker;
  readonly teamsGateway?: HostName;
  /** `host.dial_require_key`: a client without a proven key is refused at dial-in. */
  readonly isDialKeyRequired: boolean;
}

/** A change of `host.yaml`, with values from `checkMarker`; `undefined` removes a key. */
export interface MarkerEdit {
  readonly webview_gateway?: string | undefined;
  readonly teams_gateway?: string | undefined;
  readonly dial_require_key?: boolean | undefined;
}

/** Markers of a host without a host file. */
export const NO_MARKERS: HostMarkers = { isDialKeyRequired: false };

/** Parses the value of `host.webview_gateway`. */
export function parseGatewayMarker(text: string): Result<GatewayMarker> {
  const trimmed = text.trim();
  const match = /^(?:(wss?):\/\/)?([^/:]+)(?::([0-9]{1,5}))?\/?$/i.exec(trimmed);
  const port = match?.[3] === undefined ? undefined : Number(match[3]);
  if (match === null || (port !== undefined && (port < 1 || port > 65_535))) {
    return err(
      refusal(
        "marker-invalid",
        `Cannot use ${JSON.stringify(trimmed.slice(0, 80))} as gateway: ` +
          "must be a hostname, or wss://<hostname> for a gateway behind TLS",
        { kind: "usage" },
      ),
    );
  }
  const host = parseHostName(match[2] ?? "");
  if (!host.ok) return host;
  return ok({ host: host.value, isTls: match[1]?.toLowerCase() === "wss", port });
}

/** Returns a marker in its normal form, or a refusal if it is invalid. */
export function checkMarker(marker: Marker, text: string): Result<string> {
  if (marker === "teams_gateway") return parseHostName(text);
  const parsed = parseGatewayMarker(text);
  if (!parsed.ok) return parsed;
  return ok(printGatewayMarker(parsed.value));
}

/** Prints a marker in its normal form; the inverse of `parseGatewayMarker`. */
export function printGatewayMarker({ host, isTls, port }: GatewayMarker): string {
  const scheme = isTls ? "wss://" : port === undefined ? "" : "ws://";
  return `${scheme}${host}${port === undefined ? "" : `:${port}`}`;
}

/** Parses `host.yaml`; an absent or empty file has no markers. */
export function parseMarkers(text: string | undefined, file: string): Result<HostMarkers> {
  if (text === undefined) return ok(NO_MARKERS);
  const yaml = parseYaml(text, file);
  if (!yaml.ok) return err(markerRefusal(file, yaml.error.details));
  if (yaml.value.value === null) return ok(NO_MARKERS);
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], [...MARKERS, "dial_require_key"]);
  const marker = <T>(key: Marker, parse: (text: string) => Result<T>): T | undefined => {
    const value = read.string(
      [key],
      (given) => given === "" ? undefined : nameFault(parse, given),
    );
    const parsed = value === undefined || value === "" ? undefined : parse(value);
    return parsed?.ok ? parsed.value : undefined;
  };
  const webviewGateway = marker("webview_gateway", parseGatewayMarker);
  const teamsGateway = marker("teams_gateway", parseHostName);
  const isRequired = read.entries([]).find(([key]) => key === "dial_require_key")?.[1] ?? false;
  if (typeof isRequired !== "boolean") read.fault(["dial_require_key"], "must be true or false");
  if (read.faults.length > 0) return err(markerRefusal(file, read.faults));
  return ok({
    ...defined({ webviewGateway, teamsGateway }),
    isDialKeyRequired: isRequired === true,
  });
}

/** Edits `host.yaml`; comments and order are preserved. Refuses a file that cannot be parsed. */
export function editMarkers(
  text: string | undefined,
  edit: MarkerEdit,
  file: string,
): Result<string> {
  const before = parseMarkers(text, file);
  if (!before.ok) return before;
  return editYaml(text ?? "", (yaml) => {
    for (const [key, value] of Object.entries(edit)) {
      if (value === undefined) yaml.remove([key]);
      else if (yaml.get([key]) !== value) yaml.set([key], value);
    }
  }, file);
}

/** Tells whether a marker names this host; a host without the marker is its own gateway. */
export function isGatewayHost(
  marker: HostName | GatewayMarker | undefined,
  hostname: HostName,
): boolean {
  const host = typeof marker === "object" ? marker.host : marker;
  return host === undefined || host === hostname;
}

function markerRefusal(file: string, details: readonly string[]) {
  return refusal(
    "host-file-invalid",
    `Cannot read the host file "${file}": ${faultCount(details)}`,
    {
      details,
      hints: [editHint(file)],
    },
  );
}
