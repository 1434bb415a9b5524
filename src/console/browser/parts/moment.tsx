import { momentText } from '../domain/moment-text.js';
import { now } from '../now.js';

/** A moment in short; in full, and in UTC, in its title. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}>
      {momentText(new Date(at), now())}
    </time>
  );
}
