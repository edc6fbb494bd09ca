/**
 * Challenges of a 401 (RFC 9110, 11.6.1).
 *
 * @module
 */

/** Makes scripts send a password and browsers prompt for one. */
export const BASIC_CHALLENGE = 'Basic realm="fleetctl", charset="UTF-8"';
/** Names the missing session without a browser prompt. */
export const SESSION_CHALLENGE = 'Session realm="fleetctl"';
