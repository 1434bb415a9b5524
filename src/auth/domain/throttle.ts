import type { Quota } from '../../kernel/errors.js';

/** Whether an attempt may go on. `first`: this is the one that crossed the limit, so the event is worth a record. */
export type Attempt = { kind: 'counted' } | { kind: 'throttled'; quota: Quota; retryAfter: number; first: boolean };

/**
 * Counts attempts before any work is done for them, for all replicas together. An attempt counts as a failure until it is
 * taken back, so that guesses made at once cannot pass together. Names that nobody has are counted like others.
 */
export abstract class Throttle {
  /** Per (name, address) and per address: from elsewhere nobody can lock out somebody else. */
  abstract login(username: string, address: string): Promise<Attempt>;
  /** Takes the attempt back; on the address only this one, so that a success buys no tries on other names. */
  abstract loginSucceeded(username: string, address: string): Promise<void>;
  abstract registration(address: string): Promise<Attempt>;
  /** Removes counters whose window has ended. @returns how many. */
  abstract sweep(now: Date): Promise<number>;
}

/**
 * What an address is counted as: an IPv4 address itself, also when IPv6 wraps it; of an IPv6 address its /64, which one customer
 * has whole.
 */
export function countedAddress(address: string): string {
  const wrapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (wrapped !== undefined) return wrapped;
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.toLowerCase().replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros: string[] = tail === undefined ? [] : Array<string>(8 - groups.length - after.length).fill('0');
  return `${[...groups, ...zeros, ...after]
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
