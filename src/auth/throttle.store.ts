import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Quota } from '../kernel/errors.js';
import { DatabaseSession } from '../platform/database/database-session.js';
import { Settings } from '../platform/settings/settings.js';

/** The window of a counter in which an attempt was counted. An attempt can be taken back in that window only. */
interface CounterWindow {
  key: string;
  /** Milliseconds since 1970, by the database's clock. */
  endsAt: number;
}

export interface CountedAttempt {
  kind: 'counted';
  /** The name's window first, if a name was counted; empty while throttling is off. */
  windows: readonly CounterWindow[];
}

/** `first`: this attempt crossed the limit, so it is the one that the audit trail records. */
export interface ThrottledAttempt {
  kind: 'throttled';
  quota: Quota;
  retryAfter: number;
  first: boolean;
}

export type Attempt = CountedAttempt | ThrottledAttempt;

interface Counter {
  key: string;
  quota: Quota;
}

interface CounterRow {
  key: string;
  points: number;
  expire: number;
  rest_ms: number;
}

/** The database's clock, so that all replicas count by the same one. */
const NOW = '(extract(epoch FROM now()) * 1000)::bigint';
const COLUMNS = `c.key, c.points, c.expire::float8 AS expire, (c.expire - ${NOW})::float8 AS rest_ms`;

/**
 * Counts attempts in PostgreSQL, for all replicas together, before any work is done for them. An attempt counts as a failure until it
 * is taken back, so that concurrent guesses cannot get past the limit. Unknown names are counted like known ones.
 */
@Injectable()
export class Throttle {
  private readonly settings: Settings['auth']['throttle'];

  constructor(
    settings: Settings,
    private readonly session: DatabaseSession,
  ) {
    this.settings = settings.auth.throttle;
  }

  /** Counts per address, and per name and address: attempts from elsewhere cannot lock a user out. */
  countLogin(username: string, address: string): Promise<Attempt> {
    const { windowSeconds, perName } = this.settings;
    // The name's counter comes first: if it refuses the attempt, other users behind the same address do not pay for it.
    return this.countAttempt([
      counter({ name: 'login-name', limit: perName, windowSeconds }, nameKey(username, address)),
      this.addressCounter('login-address', address),
    ]);
  }

  countRegistration(address: string): Promise<Attempt> {
    const quota = { name: 'registration', limit: this.settings.registerPerHour, windowSeconds: 3600 };
    return this.countAttempt([counter(quota, countedAddress(address))]);
  }

  /**
   * Counts by address alone. `exchange`: a token of the identity provider is presented. `redemption`: a code is redeemed there, because
   * strangers can invent codes. `sign-in`: a sign-in there failed; beyond the limit failures are not recorded.
   */
  countAtProvider(what: 'exchange' | 'redemption' | 'sign-in', address: string): Promise<Attempt> {
    return this.countAttempt([this.addressCounter(`${what}-address`, address)]);
  }

  /** After a login: forgets all failures of the name, but only this attempt of the address, so that a success allows no more guesses at other names. */
  async recordSuccess({ windows: [name, ...others] }: CountedAttempt): Promise<void> {
    if (name === undefined) return;
    await this.session.queryPrepared(
      'forget_attempts',
      'DELETE FROM throttle_counters WHERE key = $1 AND expire = $2',
      [name.key, name.endsAt],
    );
    await this.takeBack({ kind: 'counted', windows: others });
  }

  /** Takes back an attempt that was refused before its credential was checked, or an exchange or redemption that succeeded. */
  async takeBack({ windows }: CountedAttempt): Promise<void> {
    for (const { key, endsAt } of windows) {
      await this.session.queryPrepared(
        'take_attempt_back',
        'UPDATE throttle_counters SET points = points - 1 WHERE key = $1 AND expire = $2',
        [key, endsAt],
      );
    }
  }

  /** Removes counters whose window has ended. @returns how many */
  sweep(): Promise<number> {
    return this.session.execute(`DELETE FROM throttle_counters WHERE expire <= ${NOW}`, []);
  }

  private addressCounter(name: string, address: string): Counter {
    const { windowSeconds, perAddress } = this.settings;
    return counter({ name, limit: perAddress, windowSeconds }, countedAddress(address));
  }

  /** Reads all counters before it raises any, and does not write those past their limit. Of several refusals it returns the last one's. */
  private async countAttempt(counters: readonly Counter[]): Promise<Attempt> {
    if (!this.settings.enabled) return { kind: 'counted', windows: [] };
    const exhausted = await this.findExhausted(counters);
    if (exhausted !== null) return exhausted;
    const windows: CounterWindow[] = [];
    for (const raised of counters) {
      const row = await this.raiseCounter(raised);
      if (row.points > raised.quota.limit) return throttled(raised.quota, row, row.points === raised.quota.limit + 1);
      windows.push({ key: row.key, endsAt: row.expire });
    }
    return { kind: 'counted', windows };
  }

  private async findExhausted(counters: readonly Counter[]): Promise<ThrottledAttempt | null> {
    const rows = await this.session.queryPrepared<CounterRow>(
      'read_attempts',
      `SELECT ${COLUMNS} FROM throttle_counters c WHERE c.key = ANY ($1) AND c.expire > ${NOW}`,
      [counters.map(({ key }) => key)],
    );
    for (const { key, quota } of counters.toReversed()) {
      const row = rows.find((candidate) => candidate.key === key);
      if (row !== undefined && row.points > quota.limit) return throttled(quota, row, false);
    }
    return null;
  }

  private async raiseCounter({ key, quota: { windowSeconds } }: Counter): Promise<CounterRow> {
    const [row] = await this.session.queryPrepared<CounterRow>(
      'count_attempt',
      `INSERT INTO throttle_counters AS c (key, points, expire) VALUES ($1, 1, ${NOW} + $2)
       ON CONFLICT (key) DO UPDATE SET
         points = CASE WHEN c.expire > ${NOW} THEN c.points + 1 ELSE 1 END,
         expire = CASE WHEN c.expire > ${NOW} THEN c.expire ELSE excluded.expire END
       RETURNING ${COLUMNS}`,
      [key, windowSeconds * 1000],
    );
    if (row === undefined) throw new Error('an upsert returned no row');
    return row;
  }
}

function counter(quota: Quota, key: string): Counter {
  return { quota, key: `${quota.name}:${key}` };
}

function throttled(quota: Quota, { rest_ms }: CounterRow, first: boolean): ThrottledAttempt {
  return { kind: 'throttled', quota, retryAfter: rest_ms / 1000, first };
}

/** A digest of the name, because names can have any length, and because people type passwords into the wrong field. */
function nameKey(username: string, address: string): string {
  const name = createHash('sha256').update(username.toLowerCase()).digest('base64url');
  return `${name}:${countedAddress(address)}`;
}

/**
 * The key of an address in the counters: an IPv4 address itself, also in its IPv6 form; for an IPv6 address its /64 prefix, because
 * that belongs to one customer.
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
