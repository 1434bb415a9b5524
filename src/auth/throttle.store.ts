import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Quota } from '../kernel/errors.js';
import { DatabaseSession } from '../platform/database/database-session.js';
import { Settings } from '../platform/settings/settings.js';
import { accountKey } from '../users/domain/account.js';

/** The time window in which a counter counted an attempt. The attempt can be taken back only until the window ends. */
interface CounterWindow {
  key: string;
  /** Milliseconds since 1970, by the database's clock. */
  endsAt: number;
}

export interface CountedAttempt {
  kind: 'counted';
  /** Windows of all counters that the attempt raised; for a login, the first window counts attempts on the name. Empty while throttling is off. */
  windows: readonly CounterWindow[];
}

/** An attempt beyond a limit. `isFirst`: this attempt crossed the limit. Only such attempts are recorded in the audit trail. */
export interface ThrottledAttempt {
  kind: 'throttled';
  quota: Quota;
  retryAfter: number;
  isFirst: boolean;
}

export type Attempt = CountedAttempt | ThrottledAttempt;

interface AttemptCounter {
  key: string;
  quota: Quota;
}

interface CounterRow {
  key: string;
  points: number;
  expire: number;
  remaining_ms: number;
}

/** SQL for the present time by the database's clock, so that all replicas count by one clock. */
const NOW_MS_SQL = '(extract(epoch FROM now()) * 1000)::bigint';
const COUNTER_COLUMNS = `c.key, c.points, c.expire::float8 AS expire, (c.expire - ${NOW_MS_SQL})::float8 AS remaining_ms`;

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

  /** Counts a login per address, and per name and address, so that attempts from other addresses cannot lock a user out. */
  countLogin(username: string, address: string): Promise<Attempt> {
    const { windowSeconds, attemptsPerName } = this.settings;
    // The name's counter is raised first: if it refuses the attempt, the counter of the address, which others may share, stays as it is.
    return this.countAttempt([
      counterOf({ name: 'login-name', limit: attemptsPerName, windowSeconds }, nameKey(username, address)),
      this.addressCounter('login-address', address),
    ]);
  }

  countRegistration(address: string): Promise<Attempt> {
    const quota = { name: 'registration', limit: this.settings.registerPerHour, windowSeconds: 3600 };
    return this.countAttempt([counterOf(quota, addressKey(address))]);
  }

  /**
   * Counts a client's request that involves the identity provider. `exchange`: the client presents a token of the provider. `redemption`: the
   * client presents a code, possibly an invented one. `sign-in`: a sign-in failed.
   */
  countAtProvider(attempt: 'exchange' | 'redemption' | 'sign-in', address: string): Promise<Attempt> {
    return this.countAttempt([this.addressCounter(`${attempt}-address`, address)]);
  }

  /** After a login: clears the name's counter, but takes only this attempt off the address's counter, which still limits guesses at other names. */
  async recordSuccess({ windows: [nameWindow, ...otherWindows] }: CountedAttempt): Promise<void> {
    if (nameWindow === undefined) return;
    await this.session.queryPrepared(
      'forget_attempts',
      'DELETE FROM throttle_counters WHERE key = $1 AND expire = $2',
      [nameWindow.key, nameWindow.endsAt],
    );
    await this.takeBack({ kind: 'counted', windows: otherWindows });
  }

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
    return this.session.execute(`DELETE FROM throttle_counters WHERE expire <= ${NOW_MS_SQL}`, []);
  }

  private addressCounter(name: string, address: string): AttemptCounter {
    const { windowSeconds, attemptsPerAddress } = this.settings;
    return counterOf({ name, limit: attemptsPerAddress, windowSeconds }, addressKey(address));
  }

  /** Counts one attempt in each counter, or in none if one is past its limit already. */
  private async countAttempt(counters: readonly AttemptCounter[]): Promise<Attempt> {
    if (!this.settings.enabled) return { kind: 'counted', windows: [] };
    const refusedAttempt = await this.findRefusedAttempt(counters);
    if (refusedAttempt !== null) return refusedAttempt;
    const windows: CounterWindow[] = [];
    for (const { key, quota } of counters) {
      const row = await this.raiseCounter(key, quota.windowSeconds);
      if (row.points > quota.limit) return throttledAttempt(quota, row, row.points === quota.limit + 1);
      windows.push({ key: row.key, endsAt: row.expire });
    }
    return { kind: 'counted', windows };
  }

  private async findRefusedAttempt(counters: readonly AttemptCounter[]): Promise<ThrottledAttempt | null> {
    const rows = await this.session.queryPrepared<CounterRow>(
      'read_attempts',
      `SELECT ${COUNTER_COLUMNS} FROM throttle_counters c WHERE c.key = ANY ($1) AND c.expire > ${NOW_MS_SQL}`,
      [counters.map(({ key }) => key)],
    );
    for (const { key, quota } of counters.toReversed()) {
      const row = rows.find((candidate) => candidate.key === key);
      if (row !== undefined && row.points > quota.limit) return throttledAttempt(quota, row, false);
    }
    return null;
  }

  private async raiseCounter(key: string, windowSeconds: number): Promise<CounterRow> {
    const [row] = await this.session.queryPrepared<CounterRow>(
      'count_attempt',
      `INSERT INTO throttle_counters AS c (key, points, expire) VALUES ($1, 1, ${NOW_MS_SQL} + $2)
       ON CONFLICT (key) DO UPDATE SET
         points = CASE WHEN c.expire > ${NOW_MS_SQL} THEN c.points + 1 ELSE 1 END,
         expire = CASE WHEN c.expire > ${NOW_MS_SQL} THEN c.expire ELSE excluded.expire END
       RETURNING ${COUNTER_COLUMNS}`,
      [key, windowSeconds * 1000],
    );
    if (row === undefined) throw new Error('an upsert returned no row');
    return row;
  }
}

function counterOf(quota: Quota, key: string): AttemptCounter {
  return { quota, key: `${quota.name}:${key}` };
}

function throttledAttempt(quota: Quota, { remaining_ms }: CounterRow, isFirst: boolean): ThrottledAttempt {
  return { kind: 'throttled', quota, retryAfter: remaining_ms / 1000, isFirst };
}

/** The key of a name and an address. Contains a digest of the name: names can have any length, and people type passwords into the name field. */
function nameKey(username: string, address: string): string {
  const name = createHash('sha256').update(accountKey(username)).digest('base64url');
  return `${name}:${addressKey(address)}`;
}

/**
 * The key of an address in the counters: the address itself for IPv4, also in its IPv6 form; the /64 prefix for IPv6, because all
 * addresses with the same prefix belong to one customer.
 */
export function addressKey(address: string): string {
  const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mappedIpv4 !== undefined) return mappedIpv4;
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.toLowerCase().replace(/%.*$/, '').split('::');
  const headGroups = head === '' ? [] : head.split(':');
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeroGroups = tail === undefined ? [] : Array<string>(8 - headGroups.length - tailGroups.length).fill('0');
  return `${[...headGroups, ...zeroGroups, ...tailGroups]
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
