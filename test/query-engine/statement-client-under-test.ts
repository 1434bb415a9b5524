import { readFileSync } from 'node:fs';
import { SystemClock, type Timers } from '../../src/kernel/clock.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import {
  type RequestLimits,
  type StatementAnswer,
  type TrinoAddress,
  TrinoStatementClient,
} from '../../src/query-engine/trino-statement-client.js';
import { RowLoop } from '../../src/query-engine/domain/row-loop.js';
import { SkippingTimers } from '../support/fakes/fake-timers.js';
import { FIXED_RANDOM } from '../support/fakes/fixed-random.js';
import { FakeServiceTokenSource } from '../support/fakes/fake-service-token-source.js';
import { FakeTrino } from '../support/fakes/fake-trino.js';
import { LogBook } from '../support/fakes/log-book.js';

/** The user of the statements. */
export const ana = sessionFor('ana', { catalog: 'sales', schema: 'eu', traceToken: 'request-7' });

const LOOP = new RowLoop(readFileSync('dist/row-loop.wasm'));

/** Clients of one engine, in time that jumps over every wait. */
export class StatementClientUnderTest {
  readonly timers = new SkippingTimers();
  readonly tokens = new FakeServiceTokenSource();
  readonly log = new LogBook();
  private readonly open: TrinoStatementClient[] = [];

  private constructor(
    readonly engine: FakeTrino,
    readonly origin: string,
  ) {}

  static async start(): Promise<StatementClientUnderTest> {
    const engine = new FakeTrino();
    return new StatementClientUnderTest(engine, await engine.listen());
  }

  async stop(): Promise<void> {
    for (const client of this.open) client.close();
    await this.engine.close();
  }

  client(given: Partial<TrinoAddress> = {}, timers: Timers = this.timers): TrinoStatementClient {
    const address: TrinoAddress = {
      origin: this.origin,
      path: '',
      headers: {},
      password: null,
      caFile: null,
      user: 'service-account-grantline',
      headerPrefix: 'X-Query',
      forwardedProto: null,
      compression: 'none',
      maxPageBytes: 2 ** 25,
      ...given,
    };
    const made = new TrinoStatementClient(
      address,
      this.tokens,
      timers,
      FIXED_RANDOM,
      new SystemClock(),
      this.log,
      LOOP,
    );
    this.open.push(made);
    return made;
  }

  /** Ten minutes from now. */
  inTime(): RequestLimits {
    return { deadline: this.timers.now() + 600_000 };
  }

  async toTheEnd(client: TrinoStatementClient, sql: string): Promise<StatementAnswer[]> {
    const answers = [await client.submit(sql, ana, this.inTime())];
    for (let path = answers[0]?.page.nextPath ?? null; path !== null; path = answers.at(-1)?.page.nextPath ?? null) {
      answers.push(await client.advance(path, ana, this.inTime()));
    }
    return answers;
  }
}
