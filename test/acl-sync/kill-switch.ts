/** Ends a run at a call of one of its ports, as a killed process ends: nothing is called any more after that. */
export class KillSwitch {
  private calls = 0;
  private fatal: { call: number; when: 'before' | 'after' } | null = null;

  /** @param call counted from 0; `after`: the call takes effect, and its answer is lost */
  arm(call: number, when: 'before' | 'after'): void {
    this.calls = 0;
    this.fatal = { call, when };
  }

  /** @returns whether the run was killed */
  disarm(): boolean {
    const wasKilled = this.fatal !== null && this.calls > this.fatal.call;
    this.fatal = null;
    return wasKilled;
  }

  /** The port, with every method behind the switch. */
  readonly through = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === 'function'
          ? (...args: unknown[]) => this.call(() => member.apply(target, args))
          : member;
      },
    });

  private async call(work: () => unknown): Promise<unknown> {
    const call = this.calls++;
    const { fatal } = this;
    if (fatal === null || call < fatal.call) return work();
    if (call === fatal.call && fatal.when === 'after') await work();
    throw new Error('the process was killed');
  }
}
