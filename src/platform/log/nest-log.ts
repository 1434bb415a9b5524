import type { LoggerService } from '@nestjs/common';
import type { Log } from './log.js';

/** Nest's own lines (start-up, scheduler) through the one log; its lines about routes are `debug`, its own `debug` and `verbose` ones are left out. */
export class NestLog implements LoggerService {
  constructor(private readonly target: Log) {}

  log(message: unknown, context?: string): void {
    this.target.debug(String(message), { context });
  }

  warn(message: unknown, context?: string): void {
    this.target.warn('message of the framework', { text: String(message), context });
  }

  error(message: unknown, ...rest: unknown[]): void {
    if (message instanceof Error) this.target.error('message of the framework', { err: message });
    else this.target.error('message of the framework', { text: String(message), context: rest.at(-1) });
  }
}
