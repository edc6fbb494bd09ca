/**
 * Accounts that exist only in a test.
 *
 * @module
 */

import type { User, Users } from "core/ports/users.ts";

/** Creates accounts; groups are given by name and id, and each user has a group of its name. */
export function memoryUsers(
  options: {
    readonly currentUid?: number;
    readonly users?: readonly User[];
    readonly groups?: Readonly<Record<string, number>>;
  } = {},
): Users {
  const root = { name: "root", uid: 0, gid: 0, home: "/root" };
  const users = [root, ...(options.users ?? [])];
  return {
    currentUid: () => options.currentUid ?? 0,
    byName: (name) => Promise.resolve(users.find((user) => user.name === name)),
    byUid: (uid) => Promise.resolve(users.find((user) => user.uid === uid)),
    groupId: (name) =>
      Promise.resolve(options.groups?.[name] ?? users.find((user) => user.name === name)?.gid),
  };
}
