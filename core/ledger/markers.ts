/**
 * The host file `host.yaml`: markers that name the gateway hosts, and `dial_require_key`
 * (spec "Ledger and host markers", decisions 11 and 41). Pure. A marker holds a hostname, never an
 * IP address, because a host recognises itself by comparing it with its own hostname.
 *
 * @module
 */

import { createFieldReader } from "core/field_reader.ts";
import { refusal } from "core/errors.ts";
import { type HostName, nameFault, parseHostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { editYaml, parseYaml } from "core/yaml.ts";

/** Markers that `host set` takes, each a hostname. */
export const MARKERS = ["webview_gateway", "teams_gateway"] as const;
/** One of `MARKERS`. */
export type Marker = typeof MARKERS[number];

/** What `host.yaml` says. Absent markers mean that this host has no gateway elsewhere. */
export interface HostMarkers {
  readonly webviewGateway?: HostName;
  readonly teamsGateway?: HostName;
  /** `host.dial_require_key`: a client that proves no key is refused at dial-in. */
  readonly isDialKeyRequired: boolean;
}

/** A change of `host.yaml`; `undefined` takes a marker away. */
export interface MarkerEdit {
  readonly webview_gateway?: HostName | undefined;
  readonly teams_gateway?: HostName | undefined;
  readonly dial_require_key?: boolean;
}

/** Markers of a host without a host file. */
export const NO_MARKERS: HostMarkers = { isDialKeyRequired: false };

/** Parses `host.yaml`; an absent or empty file has no markers. */
export function parseMarkers(text: string | undefined, file: string): Result<HostMarkers> {
  if (text === undefined) return ok(NO_MARKERS);
  const yaml = parseYaml(text, file);
  if (!yaml.ok) return err(markerRefusal(file, yaml.error.details));
  if (yaml.value.value === null) return ok(NO_MARKERS);
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], [...MARKERS, "dial_require_key"]);
  const host = (key: Marker): HostName | undefined => {
    const value = read.string(
      [key],
      (given) => given === "" ? undefined : nameFault(parseHostName, given),
    );
    const parsed = value === undefined || value === "" ? undefined : parseHostName(value);
    return parsed?.ok ? parsed.value : undefined;
  };
  const webviewGateway = host("webview_gateway");
  const teamsGateway = host("teams_gateway");
  const isRequired = read.entries([]).find(([key]) => key === "dial_require_key")?.[1] ?? false;
  if (typeof isRequired !== "boolean") read.fault(["dial_require_key"], "must be true or false");
  if (read.faults.length > 0) return err(markerRefusal(file, read.faults));
  return ok({
    ...(webviewGateway === undefined ? {} : { webviewGateway }),
    ...(teamsGateway === undefined ? {} : { teamsGateway }),
    isDialKeyRequired: isRequired === true,
  });
}

/** Edits `host.yaml`; comments and order survive, and a file that cannot be read is refused. */
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

/** Returns whether a marker names this host; a host without the marker is its own gateway. */
export function isGatewayHost(marker: HostName | undefined, hostname: HostName): boolean {
  return marker === undefined || marker === hostname;
}

function markerRefusal(file: string, details: readonly string[]) {
  const count = details.length === 1 ? "1 fault" : `${details.length} faults`;
  return refusal("host-file-invalid", `Cannot read the host file "${file}": ${count}`, {
    details,
    hints: [`edit ${file}, then run: fleetctl apply`],
  });
}
