/** One part's state. `down` fails readiness; `degraded` does not: the cure needs this service. */
export type Health = 'up' | 'degraded' | 'down';

/** Where modules say how their part is; asked by the operations port. */
export class HealthRegistry {
  private readonly checks = new Map<string, () => Promise<Health>>();

  register(part: string, check: () => Promise<Health>): void {
    this.checks.set(part, check);
  }

  /** Asks every part; one that throws or takes longer than two seconds is `down`. */
  async report(): Promise<{ status: Health; parts: Record<string, Health> }> {
    const parts: Record<string, Health> = {};
    await Promise.all(
      [...this.checks].map(async ([part, check]) => {
        parts[part] = await Promise.race([check(), late()]).catch(() => 'down' as const);
      }),
    );
    const states = Object.values(parts);
    const status = states.includes('down') ? 'down' : states.includes('degraded') ? 'degraded' : 'up';
    return { status, parts };
  }
}

function late(): Promise<Health> {
  return new Promise((resolve) => setTimeout(() => resolve('down'), 2000).unref());
}
