// Runs in the threads of the hashing pool. Plain JavaScript, checked by the compiler: a thread loads it unbuilt under jest,
// and built in dist.
import { createHmac } from 'node:crypto';
import { compareSync, genSaltSync, getRounds, hashSync } from 'bcryptjs';

/**
 * @typedef {{ password: string, cost: number }} HashTask
 * @typedef {{ password: string, cost: number, hash: string | null }} MatchTask
 */

/** bcrypt ignores all bytes of a password after these. */
const MAX_BCRYPT_BYTES = 72;

/**
 * The input of bcrypt for a password. A password over 72 bytes is replaced by its HMAC-SHA-256, so that no byte is ignored; the key is
 * the hash's salt, so that an unsalted digest that leaked elsewhere is useless, and base64 has no NUL. Shorter passwords are not changed,
 * so that hashes of other tools keep working.
 * @param {string} password
 * @param {string} saltOrHash begins with `$2b$12$` and 22 characters of salt
 */
function bcryptInput(password, saltOrHash) {
  if (Buffer.byteLength(password) <= MAX_BCRYPT_BYTES) return password;
  return createHmac('sha256', saltOrHash.slice(7, 29)).update(password).digest('base64');
}

/**
 * @param {HashTask} task
 * @returns {string} a bcrypt hash, `$2b$`
 */
export function hash({ password, cost }) {
  const salt = genSaltSync(cost);
  return hashSync(bcryptInput(password.normalize('NFC'), salt), salt);
}

/**
 * Whether the password has this hash. Tries its NFC form, and then its form as received, because old hashes were made without NFC.
 * Each failed try costs 2^cost rounds, so that its time does not reveal whether the user exists. After a hash of a lower cost c the
 * missing rounds are added: 2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost.
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
  if (compareSync(bcryptInput(password, stored), stored)) return true;
  for (let lowerCost = getRounds(stored); lowerCost < cost; lowerCost++) hash({ password, cost: lowerCost });
  return false;
}

/**
 * The function that the pool calls.
 * @param {HashTask | MatchTask} task
 * @returns {{ result: string | boolean, ms: number }} `ms`: the time without waiting, from which the caller computes the waiting time
 */
export default function work(task) {
  const start = performance.now();
  const result = 'hash' in task ? matches(task) : hash(task);
  return { result, ms: performance.now() - start };
}
