/**
 * Storage on the device: drafts and choices (synchronous, in local storage) and the outbox
 * (IndexedDB, on disk when the promise resolves). Some browsers store nothing, for example in
 * private windows. Then `isKept` is false and all data lives as long as the page. One viewer's
 * data is never shown to, or sent for, another viewer on the same device.
 *
 * @module
 */

import { type OutboxItem, revived } from "gateway/web/state/outbox.ts";
import { parseJson, record, text } from "gateway/web/state/wire.ts";

const DATABASE = "fleetctl";
const STORE = "outbox";
/** The signed-in viewer; empty without a login. */
export const VIEWER = document.documentElement.dataset.viewer ?? "";

/** An unsent text; the message will have the same key. */
export interface Draft {
  readonly text: string;
  readonly key: string;
}

/** Returns a new random key. `randomUUID` exists in secure origins only, hence the fallback. */
export function newKey(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reads a choice. */
export function readChoice(name: string): string | undefined {
  try {
    return localStorage.getItem(`fleetctl:${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a choice; undefined deletes it. Returns false when the browser does not store it. */
export function keepChoice(name: string, value: string | undefined): boolean {
  try {
    if (value === undefined) localStorage.removeItem(`fleetctl:${name}`);
    else localStorage.setItem(`fleetctl:${name}`, value);
    return true;
  } catch {
    return false;
  }
}

/** Reads the draft for an agent. */
export function readDraft(agent: string): Draft | undefined {
  const given = record(parseJson(readChoice(draftName(agent)) ?? ""));
  const key = text(given.key);
  return key === "" ? undefined : { key, text: text(given.text) };
}

function draftName(agent: string): string {
  return `draft:${agent}:${VIEWER}`;
}

/** Stores the draft for an agent; an empty one is deleted. */
export function keepDraft(agent: string, draft: Draft | undefined): boolean {
  const isEmpty = draft === undefined || draft.text === "";
  return keepChoice(draftName(agent), isEmpty ? undefined : JSON.stringify(draft));
}

/** The outbox on disk. */
export interface OutboxStore {
  readonly isKept: boolean;
  all(): Promise<readonly OutboxItem[]>;
  put(item: OutboxItem): Promise<void>;
  remove(key: string): Promise<void>;
}

/** Opens the outbox; falls back to memory without IndexedDB. */
export async function openOutboxStore(): Promise<OutboxStore> {
  try {
    return diskStore(await openDatabase());
  } catch {
    return memoryStore();
  }
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE, { keyPath: "key" });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("an older page keeps the database open"));
  });
}

function diskStore(database: IDBDatabase): OutboxStore {
  const change = (act: (store: IDBObjectStore) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      // `strict`: complete means on disk, not in a buffer of the system.
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve();
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  return {
    isKept: true,
    all: () =>
      new Promise((resolve, reject) => {
        const request = database.transaction(STORE).objectStore(STORE).getAll();
        request.onsuccess = () =>
          resolve(
            request.result.filter(isOwn).map(revived).filter((item) => item !== undefined),
          );
        request.onerror = () => reject(request.error);
      }),
    put: (item) => change((store) => store.put({ ...item, viewer: VIEWER })),
    remove: (key) => change((store) => store.delete(key)),
  };
}

function isOwn(item: unknown): boolean {
  return record(item).viewer === VIEWER;
}

function memoryStore(): OutboxStore {
  const items = new Map<string, OutboxItem>();
  return {
    isKept: false,
    all: () => Promise.resolve([...items.values()]),
    put: (item) => Promise.resolve(void items.set(item.key, item)),
    remove: (key) => Promise.resolve(void items.delete(key)),
  };
}
