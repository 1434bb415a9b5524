/** One part's state. `down` fails readiness; `degraded` does not: the cure needs this service. */
export type Health = 'up' | 'degraded' | 'down';

export interface HealthReport {
  status: Health;
  parts: Record<string, Health>;
  /** Seconds since a part that is asked in the background was asked last. */
  ages: Record<string, number | null>;
}

/** Where modules say how their part is; asked by the operations port. */
export class HealthRegistry {
  private readonly checks = new Map<string, () => Promise<Health>>();
  private readonly ages = new Map<string, () => number | null>();

  /** @param age seconds since the answer was found, for a part that is asked in the background; null: not yet. */
  register(part: string, check: () => Promise<Health>, age?: () => number | null): void {
    this.checks.set(part, check);
    if (age !== undefined) this.ages.set(part, age);
  }

  /** Asks every part; one that throws or takes longer than two seconds is `down`. */
  async report(): Promise<HealthReport> {
    const parts: Record<string, Health> = {};
    await Promise.all(
      [...this.checks].map(async ([part, check]) => {
        parts[part] = await Promise.race([check(), late()]).catch(() => 'down' as const);
      }),
    );
    const states = Object.values(parts);
    const status = states.includes('down') ? 'down' : states.includes('degraded') ? 'degraded' : 'up';
    const ages = Object.fromEntries([...this.ages].map(([part, age]) => [part, age()]));
    return { status, parts, ages };
  }
}

function late(): Promise<Health> {
  return new Promise((resolve) => setTimeout(() => resolve('down'), 2000).unref());
}
