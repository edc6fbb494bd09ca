/**
 * What a dial unit sends to the team-chat gateway when it opens the connection.
 *
 * @module
 */

import type { DialKey } from "core/dial/proof.ts";
import type { Host } from "core/ports/host.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import type { DialConfig } from "units/dial/config.ts";
import type { LinkOpening } from "units/dial/gateway_link.ts";

/** Returns the headers for the team-chat gateway: a fresh statement, signed with the dial key. */
export async function registration(
  agent: string,
  { url, owner }: NonNullable<DialConfig["teamchat"]>,
  { key, clock, random }: Pick<Host, "clock" | "random"> & { readonly key: DialKey },
): Promise<LinkOpening> {
  const statement = { agent, owner, gateway: url.host, nonce: random.uuid() };
  const token = await signRegistration(statement, key, clock.now());
  return { headers: { authorization: `Bearer ${token}` } };
}
