import { SkippingTimers } from '../../../../test/support/fakes/fake-timers.js';
import { LastGoodDocument } from './last-good.js';

const LIFETIME = { freshMs: 60_000, staleMs: 600_000, pauseMs: 10_000 };

describe('LastGood', () => {
  it.each([0, 0.4])(
    'fetches something newer after the pause, also where the timer is up %d ms early',
    async (early) => {
      class EarlyTimers extends SkippingTimers {
        override wait(milliseconds: number): Promise<void> {
          return super.wait(milliseconds - early);
        }
      }
      let fetched = 0;
      const timers = new EarlyTimers();
      const keys = new LastGoodDocument(() => Promise.resolve((fetched += 1)), LIFETIME, timers);

      expect(await keys.get()).toBe(1);
      timers.advance(3_000);
      expect(await keys.renew()).toBe(1);
      expect(await keys.fetchNewer()).toBe(2);
      expect(await keys.get()).toBe(2);
    },
  );
});
