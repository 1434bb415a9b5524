import { Log, type LogFields } from '../../platform/log.js';

export type OnWarning = (message: string, fields: LogFields) => void;

/** Warnings go to the caller; everything else of the log is of use to Grantline's operators alone. */
export class WarningLog extends Log {
  constructor(private readonly onWarning: OnWarning = () => undefined) {
    super();
  }

  override debug(): void {
    // Nobody asked for it.
  }

  override info(): void {
    // Nobody asked for it.
  }

  override warn(message: string, fields: LogFields = {}): void {
    this.onWarning(message, fields);
  }

  override error(message: string, fields: LogFields = {}): void {
    this.onWarning(message, fields);
  }
}
