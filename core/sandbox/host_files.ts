/**
 * What a confined process sees of the host, and the program that confines it. Data only.
 *
 * @module
 */

/** Builds a sandbox with the rights of its caller, without privileges. */
export const BUBBLEWRAP = "/usr/bin/bwrap";

/** Programs and the files that they need to start; no configuration that could contain a secret. */
export const HOST_FILES = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "-/lib64",
  "-/lib32",
  "-/etc/ld.so.cache",
  "-/etc/alternatives",
  "-/etc/ssl",
  "-/etc/ca-certificates",
  "-/etc/passwd",
  "-/etc/group",
  "-/etc/nsswitch.conf",
  "-/etc/hosts",
  "-/etc/localtime",
  "-/etc/resolv.conf",
  "-/etc/gai.conf",
  "-/etc/services",
] as const;
