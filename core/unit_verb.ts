/**
 * What a service manager can be asked to do to many units at once.
 *
 * @module
 */

/** Enabling and disabling is known to the next boot at once, to the manager after a reload. */
export type UnitVerb = "start" | "stop" | "enable" | "disable";
