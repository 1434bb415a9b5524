/** The state of a part. `down` fails readiness; `degraded` does not, because its repair may need this service. */
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
        const late = new Promise<Health>((resolve) => setTimeout(() => resolve('down'), 2000).unref());
        parts[part] = await Promise.race([check(), late]).catch(() => 'down' as const);
      }),
    );
    const states = Object.values(parts);
    const status = states.includes('down') ? 'down' : states.includes('degraded') ? 'degraded' : 'up';
    const ages = Object.fromEntries(
      [...this.parts].flatMap(([part, { age }]) => (age ? [[part, age()] as const] : [])),
    );
    return { status, parts, ages };
  }
}
