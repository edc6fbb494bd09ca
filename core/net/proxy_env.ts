/**
 * Which requests the environment gives to a proxy, as far as one has to know before sending: the
 * platform's `fetch` reads the same variables, and `NO_PROXY` with them. Pure.
 *
 * @module
 */

import { isLoopbackName } from "core/net/host_name.ts";

const OF_ALL = ["ALL_PROXY", "all_proxy"];
const OF_SCHEME = {
  "https:": ["HTTPS_PROXY", "https_proxy", ...OF_ALL],
  "http:": ["HTTP_PROXY", "http_proxy", ...OF_ALL],
} as const;

/** Variables that name a proxy. */
export const PROXY_VARIABLES: readonly string[] = [
  ...new Set(Object.values(OF_SCHEME).flat()),
];

/**
 * Tells whether a request may have to leave through a proxy: one is named for its scheme, and it
 * does not stay on this machine. Which hosts are exempt is read by who sends it.
 */
export function isForProxy(url: string, env: (name: string) => string | undefined): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return false;
  if (isLoopbackName(hostname)) return false;
  return OF_SCHEME[protocol].some((name) => (env(name) ?? "") !== "");
}
