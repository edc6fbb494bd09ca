/**
 * Files that agents offer to their owners. The bytes are in a folder beside the database.
 *
 * | State | Meaning | Leaves by |
 * |---|---|---|
 * | offered | the card is, or may be, in the conversation | the owner's answer, its expiry |
 * | accepted | the owner accepted, and the platform named an upload URL | the upload |
 * | closed | no further change | deletion, a day after the offer expired |
 *
 * A consent counts once: the change of state is the check.
 *
 * @module
 */

import { FILE_LIMITS } from "core/limits/file.ts";
import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { FileConsent, UploadTarget } from "teamchat/files/file_consent.ts";
import type { Row } from "teamchat/store/schema.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";

/** An offered file. */
export interface OwnerFile {
  readonly fileId: string;
  readonly agent: string;
  readonly sendId: string;
  readonly owner: string;
  readonly context: ReplyContext;
  readonly name: string;
  readonly description: string;
  readonly size: number;
  readonly expires: number;
  readonly state: "offered" | "accepted" | "closed";
  readonly upload: UploadTarget | undefined;
}

/** The person who pressed, and the conversation. */
export interface Presser {
  readonly owner: string;
  readonly conversation: string;
  readonly now: number;
}

/** The store of offered files. */
export interface OwnerFileStore {
  add(file: Omit<OwnerFile, "state" | "upload">): Result<"new" | "known" | "full">;
  get(fileId: string): OwnerFile | undefined;
  /** Files that the owner accepted and that are not uploaded yet. */
  accepted(): readonly OwnerFile[];
  expired(now: number): readonly OwnerFile[];
  /** Files without an answer. */
  offered(): readonly OwnerFile[];
  /** Ends an offer now: a later answer does not count. */
  lapse(fileId: string): Result<void>;
  close(fileId: string): Result<boolean>;
  sweep(before: number): void;
}

/** Opens the store over prepared tables. */
export function openOwnerFiles(db: Database): OwnerFileStore {
  const known = db.prepare("select 1 from owner_files where agent = ? and send_id = ?");
  const open = db.prepare(
    "select count(*) as n from owner_files where agent = ? and state <> 'closed'",
  );
  const insert = db.prepare(
    "insert into owner_files (file_id, agent, send_id, owner, conversation, site, name, " +
      "description, size, state, expires) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'offered', ?)",
  );
  const get = db.prepare("select * from owner_files where file_id = ?");
  const accepted = db.prepare("select * from owner_files where state = 'accepted'");
  const expired = db.prepare("select * from owner_files where state = 'offered' and expires <= ?");
  const offered = db.prepare("select * from owner_files where state = 'offered'");
  const lapse = db.prepare(
    "update owner_files set expires = 0 where file_id = ? and state = 'offered'",
  );
  const close = db.prepare(
    "update owner_files set state = 'closed', upload = null where file_id = ? and state <> " +
      "'closed'",
  );
  const sweep = db.prepare("delete from owner_files where state = 'closed' and expires <= ?");
  return {
    add: (file) =>
      writeSql(db, "the file", () => {
        if (known.get(file.agent, file.sendId) !== undefined) return "known";
        if (Number(open.get(file.agent)?.n ?? 0) >= FILE_LIMITS.fileOffersMax) return "full";
        insert.run(
          file.fileId,
          file.agent,
          file.sendId,
          file.owner,
          file.context.conversation,
          JSON.stringify(file.context),
          file.name,
          file.description,
          file.size,
          file.expires,
        );
        return "new";
      }),
    get: (fileId) => readFile(get.get(fileId)),
    accepted: () => accepted.all().map(readFile).filter((file) => file !== undefined),
    expired: (now) => expired.all(now).map(readFile).filter((file) => file !== undefined),
    offered: () => offered.all().map(readFile).filter((file) => file !== undefined),
    lapse: (fileId) =>
      writeSql(db, "the file", () => {
        lapse.run(fileId);
      }),
    close: (fileId) => writeSql(db, "the file", () => close.run(fileId).changes === 1),
    sweep: (before) => {
      sweep.run(before);
    },
  };
}

/**
 * Returns the function that records a consent, for the transaction of its delivery. It returns
 * false when the consent does not count: another person, another conversation, used, or too late.
 */
export function takeConsent(db: Database): (consent: FileConsent, by: Presser) => boolean {
  const take = db.prepare(
    "update owner_files set state = ?, upload = ? where file_id = ? and owner = ? and " +
      "conversation = ? and state = 'offered' and expires > ?",
  );
  return ({ fileId, upload }, { owner, conversation, now }) => {
    const [state, place] = upload === undefined
      ? ["closed", null]
      : ["accepted", JSON.stringify(upload)];
    return take.run(state, place, fileId, owner, conversation, now).changes === 1;
  };
}

function readFile(row: Row | undefined): OwnerFile | undefined {
  return row === undefined ? undefined : {
    fileId: String(row.file_id),
    agent: String(row.agent),
    sendId: String(row.send_id),
    owner: String(row.owner),
    context: JSON.parse(String(row.site)) as ReplyContext,
    name: String(row.name),
    description: String(row.description),
    size: Number(row.size),
    expires: Number(row.expires),
    state: String(row.state) as OwnerFile["state"],
    upload: row.upload === null ? undefined : JSON.parse(String(row.upload)) as UploadTarget,
  };
}
