import fc from 'fast-check';
import { FairQueue, type Place, type Acquisition } from './fair-queue.js';

const staying = new AbortController().signal;

/** Requests of named owners that need one slot each. */
class Requests {
  /** Whose slots were granted, in order. */
  order = '';
  running: Place[] = [];
  readonly queue: FairQueue;

  constructor(atOnce: number, places = 1000) {
    this.queue = new FairQueue(atOnce, places);
  }

  /** Null: there was no place. */
  arrive(owner: string, signal = staying): Promise<Acquisition> | null {
    const place = this.queue.enter(owner);
    if (place === null) return null;
    return this.queue.acquire(place, signal).then((acquisition) => {
      if (acquisition === 'granted') {
        this.order += owner;
        this.running.push(place);
      } else this.queue.leave(place);
      return acquisition;
    });
  }

  async arriveAll(owners: string): Promise<void> {
    for (const owner of owners) void this.arrive(owner);
    await settled();
  }

  async finish(at = 0): Promise<void> {
    for (const place of this.running.splice(at, 1)) {
      this.queue.release(place);
      this.queue.leave(place);
    }
    await settled();
  }

  async finishAll(): Promise<string> {
    while (this.running.length > 0) await this.finish();
    return this.order;
  }
}

/** Every slot that was granted is known to its waiter. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
};

describe('a fair queue', () => {
  it.each([
    [1, 'aaaa', '', 'aaaa'],
    [1, 'aaaaaa', 'b', 'abaaaaa'],
    [2, 'aaaaaa', 'b', 'aabaaaa'],
    [2, 'aaaaaa', 'bb', 'aababaaa'],
    [1, 'aaaabbbb', 'c', 'abcababab'],
    [2, 'aaaabbbb', 'c', 'aabcababb'],
  ])('%d at once: %s arrive, then %s', async (atOnce, first, later, order) => {
    const requests = new Requests(atOnce);
    await requests.arriveAll(first);
    await requests.arriveAll(later);
    expect(await requests.finishAll()).toBe(order);
  });

  it('a newcomer waits for one slot of each other owner at most, whatever those have waiting', async () => {
    const owners = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 60 }).map((names) => names.join(''));
    const finishes = fc.array(fc.nat(3), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), owners, finishes, async (atOnce, crowd, finished) => {
        const requests = new Requests(atOnce);
        await requests.arriveAll(crowd);
        for (const at of finished) await requests.finish(at % Math.max(1, requests.running.length));
        const before = requests.order.length;
        await requests.arriveAll('z');
        for (const at of finished) await requests.finish(at % Math.max(1, requests.running.length));
        await requests.finishAll();

        expect(requests.order.indexOf('z') - before).toBeLessThanOrEqual(new Set(crowd).size);
        expect(requests.order).toHaveLength(crowd.length + 1);
        expect([requests.queue.takenPlaceCount, requests.queue.waitingCount]).toEqual([0, 0]);
      }),
    );
  });

  it('takes no more than there are places, and the newest waiting of the largest share gives way to a smaller one', async () => {
    const requests = new Requests(1, 4);
    const [first, second] = ['a', 'a'].map((owner) => requests.arrive(owner));
    const small = requests.arrive('b');
    const newest = requests.arrive('a');

    expect(requests.arrive('a')).toBeNull();
    const newcomer = requests.arrive('c');

    expect(await newest).toBe('displaced');
    expect(requests.arrive('d')).not.toBeNull(); // the second of a's two gives way, the first one runs
    expect(await second).toBe('displaced');
    expect(requests.arrive('e')).toBeNull();
    expect(requests.queue.takenPlaceCount).toBe(4);
    expect(await requests.finishAll()).toBe('abcd');
    expect(await Promise.all([first, small, newcomer])).toEqual(['granted', 'granted', 'granted']);
  });

  it('displaces no place that has had a slot', async () => {
    const queue = new FairQueue(1, 2);
    const [begun, other] = [queue.enter('a'), queue.enter('a')];
    if (begun === null || other === null) throw new Error('there were two places');
    await queue.acquire(begun, staying);
    queue.release(begun);
    void queue.acquire(other, staying);
    const again = queue.acquire(begun, staying);

    expect(queue.enter('b')).toBeNull();

    queue.release(other);
    expect(await again).toBe('granted');
  });

  it('forgets requests that are aborted while they wait, or were before', async () => {
    const requests = new Requests(1);
    const leaving = new AbortController();
    const [runs, waits] = [requests.arrive('a', leaving.signal), requests.arrive('a', leaving.signal)];
    await settled();

    leaving.abort();

    expect(await Promise.all([runs, waits, requests.arrive('a', leaving.signal)])).toEqual([
      'granted',
      'aborted',
      'aborted',
    ]);
    expect(requests.queue.waitingCount).toBe(0);
    expect(await requests.finishAll()).toBe('a');
    expect(requests.queue.takenPlaceCount).toBe(0);
  });
});
