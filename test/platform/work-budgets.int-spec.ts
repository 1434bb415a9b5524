import fastify, { type FastifyInstance } from 'fastify';
import { Refused } from '../../src/kernel/errors.js';
import { WorkBudgets } from '../../src/platform/http/work-budgets.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';

describe('the budget of a person', () => {
  let server: FastifyInstance;
  let timers: FakeTimers;
  beforeEach(() => {
    server = fastify();
    timers = new FakeTimers();
    const budgets = new WorkBudgets(timers);
    budgets.watch(server);
    server.setErrorHandler((error, _, reply) => reply.status(error instanceof Refused ? 429 : 500).send());
    server.post('/:status', (request, reply) => {
      budgets.beginWork(request, 1, 'refused');
      timers.advance(900); // in which the body comes
      budgets.chargeParsing(request, () => timers.advance(100));
      return reply.status(Number((request.params as { status: string }).status)).send();
    });
  });
  afterEach(() => server.close());

  const statuses = async (status: number, count: number): Promise<number[]> => {
    const seen = [];
    for (let at = 0; at < count; at += 1)
      seen.push((await server.inject({ method: 'POST', url: `/${status}` })).statusCode);
    return seen;
  };

  it('is spent by the coming of bodies that are refused, and their parsing is counted once', async () => {
    expect(await statuses(400, 5)).toEqual([400, 400, 400, 400, 429]);
  });

  it('is spent by the parsing alone where they are accepted', async () => {
    expect(new Set(await statuses(201, 20))).toEqual(new Set([201]));
  });
});
