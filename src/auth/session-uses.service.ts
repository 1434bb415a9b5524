import { Injectable } from '@nestjs/common';

/** Says that a session is used, without keeping the request. */
@Injectable()
export class SessionUsesService {
  private listener: (sessionId: string) => void = () => undefined;

  /** @param listener must not throw, and does what takes time in the background */
  listen(listener: (sessionId: string) => void): void {
    this.listener = listener;
  }

  note(sessionId: string): void {
    this.listener(sessionId);
  }
}
