/**
 * Tells which requests the environment sends through a proxy, as far as a caller must know before
 * it sends. The platform's `fetch` reads the same variables, and also `NO_PROXY`. Pure.
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
 * Tells whether a request may have to use a proxy: the environment names one for its scheme, and
 * the host is not loopback. Ignores `NO_PROXY`, which `fetch` evaluates.
 */
export function isForProxy(url: string, env: (name: string) => string | undefined): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") return false;
  if (isLoopbackName(hostname)) return false;
  return OF_SCHEME[protocol].some((name) => (env(name) ?? "") !== "");
}
