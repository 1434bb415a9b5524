import type { Quota } from '../../kernel/errors.js';

/** The window of a counter in which an attempt was counted, and is taken back: never a later one. */
export interface CounterWindow {
  key: string;
  /** Milliseconds since 1970, by the database's clock. */
  endsAt: number;
}

export interface CountedAttempt {
  kind: 'counted';
  /** Of the name first, where a name was counted; empty while throttling is off. */
  windows: readonly CounterWindow[];
}

/** `first`: this is the attempt that crossed the limit, so the event is worth a record. */
export interface ThrottledAttempt {
  kind: 'throttled';
  quota: Quota;
  retryAfter: number;
  first: boolean;
}

export type Attempt = CountedAttempt | ThrottledAttempt;

/**
 * Counts attempts before any work is done for them, for all replicas together. An attempt counts as a failure until it is
 * taken back, so that concurrent guesses cannot pass together. Unknown names are counted like others. A counter past
 * its limit is read and no longer written.
 */
export abstract class Throttle {
  /** Per (name, address) and per address: another address cannot lock a user out. */
  abstract login(username: string, address: string): Promise<Attempt>;
  abstract registration(address: string): Promise<Attempt>;
  /** Of a token of the identity provider's. */
  abstract exchange(address: string): Promise<Attempt>;
  /** Counts a code before it is redeemed at the identity provider: strangers can invent codes. */
  abstract redemption(address: string): Promise<Attempt>;
  /** Of a sign-in at the identity provider that has failed: it is refused anyway, and is recorded while it is counted. */
  abstract failedSignIn(address: string): Promise<Attempt>;
  /** Of a login: forgets the name's failures; on the address takes only this one back, so that a success buys no tries on other names. */
  abstract succeeded(attempt: CountedAttempt): Promise<void>;
  /** Uncounts an attempt that was refused before its credential was judged, or an exchange or redemption that succeeded. */
  abstract takeBack(attempt: CountedAttempt): Promise<void>;
  /** Removes counters whose window has ended. @returns how many. */
  abstract sweep(): Promise<number>;
}

/**
 * The key of an address in the counters: an IPv4 address itself, also when IPv6 wraps it; of an IPv6 address its /64, which one customer
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
