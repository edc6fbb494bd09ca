/**
 * In-memory user accounts.
 *
 * @module
 */

import type { User, Users } from "core/ports/users.ts";

/** Creates accounts. `groups` has names and ids; each user also has a group of the same name. */
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
