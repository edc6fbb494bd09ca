/**
 * Builds the cards that offer and show a file, and parses the owner's consent. Pure. Source: Teams
 * "Send and receive files through a bot": `file.consent` card, invoke `fileConsent/invoke`,
 * `file.info` card.
 *
 * @module
 */

import * as z from "zod";

/** Where the platform accepts the bytes, and its name and address of the file. */
export interface UploadTarget {
  readonly uploadUrl: string;
  readonly contentUrl: string;
  readonly uniqueId: string;
  readonly fileType: string;
}

/** An owner's answer to an offered file; without an upload target, the owner declined. */
export interface FileConsent {
  readonly fileId: string;
  readonly upload: UploadTarget | undefined;
}

const invoke = z.object({
  type: z.literal("fileUpload"),
  action: z.enum(["accept", "decline"]),
  context: z.object({ fleetctl_file: z.string().min(1).max(64) }),
  uploadInfo: z.object({
    uploadUrl: z.string().max(8_192),
    contentUrl: z.string().max(8_192),
    uniqueId: z.string().max(256),
    fileType: z.string().max(64).nullish(),
  }).nullish(),
});

/** Parses the value of the invoke; undefined when it is not an answer to the gateway's card. */
export function parseConsent(value: unknown): FileConsent | undefined {
  const read = invoke.safeParse(value);
  if (!read.success) return undefined;
  const { action, context, uploadInfo } = read.data;
  const fileId = context.fleetctl_file;
  if (action === "decline") return { fileId, upload: undefined };
  if (uploadInfo === undefined || uploadInfo === null) return undefined;
  return { fileId, upload: { ...uploadInfo, fileType: uploadInfo.fileType ?? "" } };
}

type Attachment = Readonly<Record<string, unknown>>;

/** The card that requests consent. */
export function consentCard(
  file: { readonly fileId: string; readonly name: string; readonly description: string } & {
    readonly size: number;
  },
): Attachment {
  const context = { fleetctl_file: file.fileId };
  return {
    contentType: "application/vnd.microsoft.teams.card.file.consent",
    name: file.name,
    content: {
      description: file.description,
      sizeInBytes: file.size,
      acceptContext: context,
      declineContext: context,
    },
  };
}

/** The card that shows the uploaded file. */
export function fileCard(name: string, target: UploadTarget): Attachment {
  return {
    contentType: "application/vnd.microsoft.teams.card.file.info",
    name,
    contentUrl: target.contentUrl,
    content: { uniqueId: target.uniqueId, fileType: target.fileType },
  };
}
