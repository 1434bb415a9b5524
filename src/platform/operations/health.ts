/** The state of a part. With `down` the service is not ready. With `degraded` it stays ready, because repairing the part may need the service. */
export type Health = 'up' | 'degraded' | 'down';

export interface HealthReport {
  status: Health;
  parts: Record<string, Health>;
  /** Seconds since the last check, for parts that are checked in the background. */
  ages: Record<string, number | null>;
}

/** The health checks of all modules, for the operations port. */
export class HealthRegistry {
  private readonly parts = new Map<string, { check: () => Promise<Health>; age?: () => number | null }>();

  /** @param age seconds since the last check of a part that is checked in the background; null: not checked yet. */
  register(part: string, check: () => Promise<Health>, age?: () => number | null): void {
    this.parts.set(part, { check, ...(age && { age }) });
  }

  /** Checks every part. A check that throws or takes longer than two seconds counts as `down`. */
  async report(): Promise<HealthReport> {
    const parts: Record<string, Health> = {};
    await Promise.all(
      [...this.parts].map(async ([part, { check }]) => {
        const timeout = new Promise<Health>((resolve) => setTimeout(() => resolve('down'), 2000).unref());
        parts[part] = await Promise.race([check(), timeout]).catch(() => 'down' as const);
      }),
    );
    const partStates = Object.values(parts);
    const status = partStates.includes('down') ? 'down' : partStates.includes('degraded') ? 'degraded' : 'up';
    const ages = Object.fromEntries(
      [...this.parts].flatMap(([part, { age }]) => (age ? [[part, age()] as const] : [])),
    );
    return { status, parts, ages };
  }
}
