import { Writable } from 'node:stream';
import { createPino, PinoLog } from './pino-log.js';
import { LogOutput } from './log-output.js';

/** A pipe whose reader reads when it is told to. */
class UnreadPipe extends Writable {
  text = '';
  private readonly owed: (() => void)[] = [];

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    this.owed.push(done);
  }

  async readAll(): Promise<void> {
    for (let next = this.owed.shift(); next !== undefined; next = this.owed.shift()) {
      next();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

describe('log lines that are not read', () => {
  const unread = (): { pipe: UnreadPipe; output: LogOutput; log: PinoLog } => {
    const pipe = new UnreadPipe();
    const output = new LogOutput(pipe, 'json');
    return { pipe, output, log: new PinoLog(createPino({ level: 'info', format: 'json' }, output), output) };
  };

  it('are kept up to a mebibyte; of more, the log says how many are missing, and where', async () => {
    const { pipe, output, log } = unread();
    for (let line = 0; line < 3_000; line += 1) log.info('request', { line, text: 'x'.repeat(1_000) });
    expect(pipe.writableLength).toBeLessThan(1.1 * 1024 * 1024);
    const { droppedLines: dropped } = output;
    await pipe.readAll();
    log.info('request', { line: 3_000 });
    await pipe.readAll();

    const lines = pipe.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; line?: number; lines?: number });
    expect(lines.slice(-2)).toMatchObject([{ msg: 'log lines dropped', lines: dropped }, { line: 3_000 }]);
    expect(lines.at(-3)).toMatchObject({ line: 3_000 - dropped - 1 });
    expect(log.droppedLines()).toBe(dropped);
  });

  it('are not waited for at the end, but for a moment', async () => {
    const { pipe, output, log } = unread();
    log.info('stopping');
    await output.waitUntilRead(1);
    const read = output.waitUntilRead(60_000);
    await pipe.readAll();

    await read;
    expect(pipe.writableLength).toBe(0);
  });

  it('are for people where the format is that', () => {
    const pipe = new UnreadPipe();
    const output = new LogOutput(pipe, 'pretty');
    new PinoLog(createPino({ level: 'info', format: 'pretty' }, output), output).info('stopping', {
      signal: 'SIGTERM',
    });

    expect(pipe.text).toMatch(/INFO: stopping \{"signal":"SIGTERM"\}\n$/);
  });
});
