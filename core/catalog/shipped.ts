/**
 * The catalog entries that ship with the product, as text inside the program. So the source tree
 * and the bundle read the same bytes. The folders below `shipped/` have the form of an overlay:
 * `mcp.yaml`, and `deno.lock` for an npm source. No I/O.
 *
 * @module
 */

import agentMessage from "core/catalog/shipped/agent-message/mcp.yaml" with { type: "text" };
import architectureLock from "core/catalog/shipped/architecture/deno.lock" with { type: "text" };
import architecture from "core/catalog/shipped/architecture/mcp.yaml" with { type: "text" };
import audioLock from "core/catalog/shipped/audio/deno.lock" with { type: "text" };
import audio from "core/catalog/shipped/audio/mcp.yaml" with { type: "text" };
import browserLock from "core/catalog/shipped/browser/deno.lock" with { type: "text" };
import browser from "core/catalog/shipped/browser/mcp.yaml" with { type: "text" };
import codeHostLock from "core/catalog/shipped/code-host/deno.lock" with { type: "text" };
import codeHost from "core/catalog/shipped/code-host/mcp.yaml" with { type: "text" };
import databaseLock from "core/catalog/shipped/database/deno.lock" with { type: "text" };
import database from "core/catalog/shipped/database/mcp.yaml" with { type: "text" };
import designLock from "core/catalog/shipped/design/deno.lock" with { type: "text" };
import design from "core/catalog/shipped/design/mcp.yaml" with { type: "text" };
import errorTrackerLock from "core/catalog/shipped/error-tracker/deno.lock" with { type: "text" };
import errorTracker from "core/catalog/shipped/error-tracker/mcp.yaml" with { type: "text" };
import fileStorageLock from "core/catalog/shipped/file-storage/deno.lock" with { type: "text" };
import fileStorage from "core/catalog/shipped/file-storage/mcp.yaml" with { type: "text" };
import gitLock from "core/catalog/shipped/git/deno.lock" with { type: "text" };
import git from "core/catalog/shipped/git/mcp.yaml" with { type: "text" };
import imageLock from "core/catalog/shipped/image/deno.lock" with { type: "text" };
import image from "core/catalog/shipped/image/mcp.yaml" with { type: "text" };
import issueTracker from "core/catalog/shipped/issue-tracker/mcp.yaml" with { type: "text" };
import mapsLock from "core/catalog/shipped/maps/deno.lock" with { type: "text" };
import maps from "core/catalog/shipped/maps/mcp.yaml" with { type: "text" };
import messenger from "core/catalog/shipped/messenger/mcp.yaml" with { type: "text" };
import notesLock from "core/catalog/shipped/notes/deno.lock" with { type: "text" };
import notes from "core/catalog/shipped/notes/mcp.yaml" with { type: "text" };
import officeALock from "core/catalog/shipped/office-a/deno.lock" with { type: "text" };
import officeA from "core/catalog/shipped/office-a/mcp.yaml" with { type: "text" };
import officeBLock from "core/catalog/shipped/office-b/deno.lock" with { type: "text" };
import officeB from "core/catalog/shipped/office-b/mcp.yaml" with { type: "text" };
import paymentsLock from "core/catalog/shipped/payments/deno.lock" with { type: "text" };
import payments from "core/catalog/shipped/payments/mcp.yaml" with { type: "text" };
import searchALock from "core/catalog/shipped/search-a/deno.lock" with { type: "text" };
import searchA from "core/catalog/shipped/search-a/mcp.yaml" with { type: "text" };
import searchBLock from "core/catalog/shipped/search-b/deno.lock" with { type: "text" };
import searchB from "core/catalog/shipped/search-b/mcp.yaml" with { type: "text" };
import teamchat from "core/catalog/shipped/teamchat/mcp.yaml" with { type: "text" };
import workchat from "core/catalog/shipped/workchat/mcp.yaml" with { type: "text" };

/** Text of one shipped entry. */
export interface ShippedEntry {
  readonly name: string;
  readonly manifest: string;
  readonly lock?: string;
}

/** Every shipped entry, sorted by name. */
export const SHIPPED_ENTRIES: readonly ShippedEntry[] = [
  { name: "agent-message", manifest: agentMessage },
  { name: "architecture", manifest: architecture, lock: architectureLock },
  { name: "audio", manifest: audio, lock: audioLock },
  { name: "browser", manifest: browser, lock: browserLock },
  { name: "code-host", manifest: codeHost, lock: codeHostLock },
  { name: "database", manifest: database, lock: databaseLock },
  { name: "design", manifest: design, lock: designLock },
  { name: "error-tracker", manifest: errorTracker, lock: errorTrackerLock },
  { name: "file-storage", manifest: fileStorage, lock: fileStorageLock },
  { name: "git", manifest: git, lock: gitLock },
  { name: "image", manifest: image, lock: imageLock },
  { name: "issue-tracker", manifest: issueTracker },
  { name: "maps", manifest: maps, lock: mapsLock },
  { name: "messenger", manifest: messenger },
  { name: "notes", manifest: notes, lock: notesLock },
  { name: "office-a", manifest: officeA, lock: officeALock },
  { name: "office-b", manifest: officeB, lock: officeBLock },
  { name: "payments", manifest: payments, lock: paymentsLock },
  { name: "search-a", manifest: searchA, lock: searchALock },
  { name: "search-b", manifest: searchB, lock: searchBLock },
  { name: "teamchat", manifest: teamchat },
  { name: "workchat", manifest: workchat },
];
