import { CronTime } from 'cron';

/** Why a schedule cannot be used; null: it can. A schedule without a next time, such as the 30th of February, cannot be started. */
export function scheduleProblem(cron: string): string | null {
  try {
    new CronTime(cron).sendAt();
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    return `is no schedule: ${message.replace(/\n[^]*/, '')}`;
  }
}
