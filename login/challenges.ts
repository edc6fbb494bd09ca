/**
 * What goes with a 401 (RFC 9110, 11.6.1).
 *
 * @module
 */

/** The challenge that makes scripts send a password, and browsers ask for one. */
export const BASIC_CHALLENGE = 'Basic realm="fleetctl", charset="UTF-8"';
/** Says what is missing without making a browser ask. */
export const SESSION_CHALLENGE = 'Session realm="fleetctl"';
