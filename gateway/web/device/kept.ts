/**
 * What the device keeps: drafts and choices (at once, in local storage) and the outbox (IndexedDB,
 * on disk when the promise resolves). A browser that keeps nothing, as some private windows do, is
 * told by `isKept`; then everything lives as long as the page. What one viewer wrote is never shown
 * to, or sent for, another one who signs in on the same device.
 *
 * @module
 */

import { type OutboxItem, revived } from "gateway/web/state/outbox.ts";
import { parseJson, record, text } from "gateway/web/state/wire.ts";

const DATABASE = "fleetctl";
const STORE = "outbox";
/** Who is signed in; empty for nobody. */
export const VIEWER = document.documentElement.dataset.viewer ?? "";

/** A text that is not sent yet; its key becomes that of the message. */
export interface Draft {
  readonly text: string;
  readonly key: string;
}

/** A new key, as good as the browser can make one; `randomUUID` is for secure origins only. */
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

/** Keeps a choice; undefined forgets it. False when the browser does not keep it. */
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

/** Keeps the draft for an agent; an empty one is forgotten. */
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

/** Opens the outbox; falls back to memory where there is no database. */
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
      // `strict`: done means on disk, not in a buffer of the system.
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
