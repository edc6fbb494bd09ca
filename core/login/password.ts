/**
 * Stored passwords: argon2id and scrypt in the PHC string format, bcrypt in its own format, and
 * `{pbkdf2-sha256}600000$<salt>$<hash>`, which `--hash-password` creates. No randomness: the salt
 * is passed in. Verifying one hash always does the same work, whatever the password.
 *
 * @module
 */

import { areEqualBytes } from "core/crypto/constant_time.ts";
import { byteLength } from "core/text/cut_text.ts";
import { argon2id, bcryptVerify, scrypt } from "hash-wasm";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { fromBase64Url, toBase64Url } from "core/crypto/signed_value.ts";

/** Iterations of a new hash (recommended for PBKDF2 with SHA-256 as of 2023). */
const PASSWORD_ITERATIONS = 600_000;
/** Bytes of a new salt. */
export const PASSWORD_SALT_BYTES = 16;

const PREFIX = "{pbkdf2-sha256}";
const PBKDF2 = /^([1-9][0-9]{3,7})\$([A-Za-z0-9_-]+)\$([A-Za-z0-9_-]+)$/;
const ARGON2ID =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,7}),t=([1-9]\d{0,3}),p=([1-9]\d{0,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
const SCRYPT =
  /^\$scrypt\$ln=([1-9]\d?),r=([1-9]\d{0,2}),p=([1-9]\d{0,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const ITERATIONS_MAX = 10_000_000;
const SALT_BYTES_MIN = 8;
const HASH_BYTES = 32;
/** Memory limit of one check, so that four concurrent checks fit a small machine. */
const MEMORY_KIB_MAX = 256 * 1024;
const PASSES_MAX = 64;
const BCRYPT_COST_MAX = 15;
/** bcrypt ignores further bytes, so two different passwords could match. */
const BCRYPT_BYTES_MAX = 72;
/** The library rejects empty passwords. Hash this instead for equal timing; the check fails. */
const NO_PASSWORD = "\u0001";

interface Salted {
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly hash: Uint8Array<ArrayBuffer>;
}

/** A parsed hash. */
export type PasswordHash =
  | { readonly kind: "pbkdf2-sha256"; readonly iterations: number } & Salted
  | {
    readonly kind: "argon2id";
    readonly memoryKib: number;
    readonly passes: number;
    readonly lanes: number;
  } & Salted
  | {
    readonly kind: "scrypt";
    readonly log2n: number;
    readonly blocks: number;
    readonly lanes: number;
  } & Salted
  | { readonly kind: "bcrypt"; readonly cost: number; readonly text: string };

/** Returns whether a stored password has the prefix of a hash, valid or not. */
export function isHashed(stored: string): boolean {
  return /^\{[A-Za-z0-9-]+\}|^\$(?:argon2[a-z]*|scrypt|2[a-z]?)\$/.test(stored);
}

/** Parses a stored hash; the refusal never contains any part of it. */
export function parsePasswordHash(stored: string): Result<PasswordHash> {
  if (stored.startsWith(PREFIX)) return parsePbkdf2(stored.slice(PREFIX.length));
  if (stored.startsWith("$argon2id$")) return parseArgon2id(stored);
  if (stored.startsWith("$scrypt$")) return parseScrypt(stored);
  if (/^\$2[aby]\$/.test(stored)) return parseBcrypt(stored);
  return bad(
    `its scheme is not known, must be $argon2id$, $scrypt$, $2b$ or ${PREFIX}`,
  );
}

/** Returns the cost of checking this hash; hashes of equal cost take the same time. */
export function costOf(hash: PasswordHash): string {
  switch (hash.kind) {
    case "pbkdf2-sha256":
      return `pbkdf2/${hash.iterations}`;
    case "argon2id":
      return `argon2id/${hash.memoryKib}/${hash.passes}/${hash.lanes}`;
    case "scrypt":
      return `scrypt/${hash.log2n}/${hash.blocks}/${hash.lanes}`;
    case "bcrypt":
      return `bcrypt/${hash.cost}`;
  }
}

/** Hashes a new password. */
export async function hashPassword(
  password: string,
  salt: Uint8Array<ArrayBuffer>,
  iterations: number = PASSWORD_ITERATIONS,
): Promise<string> {
  const hash = await pbkdf2(password, { salt, iterations });
  return `${PREFIX}${iterations}$${toBase64Url(salt)}$${toBase64Url(hash)}`;
}

/** Hashes that the platform lacks; deliberately slow and memory-hard. */
export interface SlowHashes {
  argon2id(job: Argon2idJob): Promise<Uint8Array>;
  scrypt(job: ScryptJob): Promise<Uint8Array>;
  bcryptVerify(job: { readonly password: string; readonly hash: string }): Promise<boolean>;
}

/** Input of argon2id. `memorySize` is in KiB. */
export interface Argon2idJob {
  readonly password: string;
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly memorySize: number;
  readonly iterations: number;
  readonly parallelism: number;
  readonly hashLength: number;
}

/** Input of scrypt. */
export interface ScryptJob {
  readonly password: string;
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly costFactor: number;
  readonly blockSize: number;
  readonly parallelism: number;
  readonly hashLength: number;
}

/** Computes on the calling thread, and blocks it. */
const SAME_THREAD: SlowHashes = {
  argon2id: (job) => argon2id({ ...job, outputType: "binary" }),
  scrypt: (job) => scrypt({ ...job, outputType: "binary" }),
  bcryptVerify,
};

/** Returns whether a password matches a stored hash. */
export async function isPasswordOf(
  given: string,
  stored: PasswordHash,
  slow: SlowHashes = SAME_THREAD,
): Promise<boolean> {
  switch (stored.kind) {
    case "pbkdf2-sha256":
      return areEqualBytes(await pbkdf2(given, stored), stored.hash);
    case "argon2id": {
      const made = await slow.argon2id({
        password: nonEmpty(given),
        salt: stored.salt,
        memorySize: stored.memoryKib,
        iterations: stored.passes,
        parallelism: stored.lanes,
        hashLength: stored.hash.length,
      });
      return areEqualBytes(made, stored.hash) && given !== "";
    }
    case "scrypt": {
      const made = await slow.scrypt({
        password: nonEmpty(given),
        salt: stored.salt,
        costFactor: 2 ** stored.log2n,
        blockSize: stored.blocks,
        parallelism: stored.lanes,
        hashLength: stored.hash.length,
      });
      return areEqualBytes(made, stored.hash) && given !== "";
    }
    case "bcrypt": {
      const isTooLong = byteLength(given) > BCRYPT_BYTES_MAX;
      const isUsable = !isTooLong && !given.includes("\0") && given !== "";
      const password = isUsable ? given : nonEmpty("");
      return await slow.bcryptVerify({ password, hash: stored.text }) && isUsable;
    }
  }
}

function nonEmpty(given: string): string {
  return given === "" ? NO_PASSWORD : given;
}

function bad(found: string): Result<never> {
  return err(refusal("password-hash-invalid", `Cannot read a password hash: ${found}`, {
    kind: "settings",
    hints: ["fleetctl webview-login users set you@example.org --generate"],
  }));
}

function parsePbkdf2(text: string): Result<PasswordHash> {
  const [, count, saltText = "", hashText = ""] = PBKDF2.exec(text) ?? [];
  const salt = fromBase64Url(saltText);
  const hash = fromBase64Url(hashText);
  if (count === undefined || salt === undefined || hash === undefined) {
    return bad("it must have the form iterations$salt$hash");
  }
  const iterations = Number(count);
  if (iterations > ITERATIONS_MAX) return bad(`it requires more than ${ITERATIONS_MAX} iterations`);
  if (hash.length !== HASH_BYTES) return bad(`its hash must have ${HASH_BYTES} bytes`);
  return salted({ kind: "pbkdf2-sha256", iterations, salt, hash });
}

function parseArgon2id(text: string): Result<PasswordHash> {
  const [, m, t, p, saltText = "", hashText = ""] = ARGON2ID.exec(text) ?? [];
  const salt = fromBase64(saltText);
  const hash = fromBase64(hashText);
  if (m === undefined || salt === undefined || hash === undefined) {
    return bad("it must have the form $argon2id$v=19$m=..,t=..,p=..$salt$hash");
  }
  const [memoryKib, passes, lanes] = [Number(m), Number(t), Number(p)];
  if (memoryKib > MEMORY_KIB_MAX) return bad(`it requires more than ${MEMORY_KIB_MAX} KiB`);
  if (passes > PASSES_MAX) return bad(`it requires more than ${PASSES_MAX} passes`);
  if (memoryKib < 8 * lanes) return bad("it has less memory than its lanes require");
  return salted({ kind: "argon2id", memoryKib, passes, lanes, salt, hash });
}

function parseScrypt(text: string): Result<PasswordHash> {
  const [, ln, r, p, saltText = "", hashText = ""] = SCRYPT.exec(text) ?? [];
  const salt = fromBase64(saltText);
  const hash = fromBase64(hashText);
  if (ln === undefined || salt === undefined || hash === undefined) {
    return bad("it must have the form $scrypt$ln=..,r=..,p=..$salt$hash");
  }
  const [log2n, blocks, lanes] = [Number(ln), Number(r), Number(p)];
  if (2 ** log2n * blocks * lanes / 8 > MEMORY_KIB_MAX) {
    return bad(`it requires more than ${MEMORY_KIB_MAX} KiB`);
  }
  return salted({ kind: "scrypt", log2n, blocks, lanes, salt, hash });
}

function parseBcrypt(text: string): Result<PasswordHash> {
  const [, costText] = BCRYPT.exec(text) ?? [];
  if (costText === undefined) return bad("it must have the form $2b$cost$ and 53 characters");
  const cost = Number(costText);
  return cost < 4 || cost > BCRYPT_COST_MAX
    ? bad(`its cost must be 4 to ${BCRYPT_COST_MAX}`)
    : ok({ kind: "bcrypt", cost, text });
}

function salted(hash: PasswordHash & Salted): Result<PasswordHash> {
  if (hash.salt.length < SALT_BYTES_MIN) return bad("its salt is too short");
  return hash.hash.length < 16 ? bad("its hash is too short") : ok(hash);
}

/** Decodes the unpadded base64 of the PHC format; undefined unless it is canonical. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  return text === "" ? undefined : fromBase64Url(text.replaceAll("+", "-").replaceAll("/", "_"));
}

async function pbkdf2(
  password: string,
  how: { readonly salt: Uint8Array<ArrayBuffer>; readonly iterations: number },
): Promise<Uint8Array> {
  const text = new TextEncoder().encode(password);
  const key = await crypto.subtle.importKey("raw", text, "PBKDF2", false, ["deriveBits"]);
  const bits = await crypto.subtle.deriveBits(
    { name: "PBKDF2", hash: "SHA-256", salt: how.salt, iterations: how.iterations },
    key,
    HASH_BYTES * 8,
  );
  return new Uint8Array(bits);
}
