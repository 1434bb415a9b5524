// Runs in the threads of the hashing pool. Plain JavaScript, checked by the compiler: a thread loads it unbuilt under jest,
// and built in dist.
import { createHmac } from 'node:crypto';
import { compareSync, genSaltSync, getRounds, hashSync } from 'bcryptjs';

/**
 * @typedef {{ password: string, cost: number }} HashTask
 * @typedef {{ password: string, cost: number, hash: string | null }} MatchTask
 */

/** bcrypt reads so many bytes of a password and ignores the rest. */
const BCRYPT_BYTES = 72;

/**
 * The input of bcrypt for a password. A longer one goes through HMAC-SHA-256 first, keyed with that hash's own salt: nothing
 * of it is ignored, base64 holds no NUL, and a bare digest that leaked elsewhere is of no use here. A shorter one goes as it
 * is, so that hashes of other tools keep working.
 * @param {string} password
 * @param {string} saltOrHash `$2b$12$` and 22 characters of salt, whatever follows
 */
function material(password, saltOrHash) {
  if (Buffer.byteLength(password) <= BCRYPT_BYTES) return password;
  return createHmac('sha256', saltOrHash.slice(7, 29)).update(password).digest('base64');
}

/**
 * @param {HashTask} task
 * @returns {string} a bcrypt hash, `$2b$`
 */
export function hash({ password, cost }) {
  const salt = genSaltSync(cost);
  return hashSync(material(password.normalize('NFC'), salt), salt);
}

/**
 * Whether the password is the hash's: normalised, or as received, for hashes that were made before passwords were. Another form costs
 * the same work again, whoever the user is. A refusal costs 2^cost rounds whether there is a hash or not, and also where the hash
 * is an older, cheaper one: 2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost.
 * @param {MatchTask} task
 * @returns {boolean}
 */
export function matches({ password, cost, hash: stored }) {
  const forms = new Set([password.normalize('NFC'), password]);
  return [...forms].some((form) => matchesForm({ password: form, cost, hash: stored }));
}

/** @param {MatchTask} task */
function matchesForm({ password, cost, hash: stored }) {
  if (stored === null) {
    hash({ password, cost });
    return false;
  }
  if (compareSync(material(password, stored), stored)) return true;
  for (let c = getRounds(stored); c < cost; c++) hash({ password, cost: c });
  return false;
}

/**
 * The function that the pool calls.
 * @param {HashTask | MatchTask} task
 * @returns {{ result: string | boolean, ms: number }} `ms`: how long it took here, so that the pool knows how long it waited
 */
export default function work(task) {
  const start = performance.now();
  const result = 'hash' in task ? matches(task) : hash(task);
  return { result, ms: performance.now() - start };
}
