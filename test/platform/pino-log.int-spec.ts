import { AxiosError, AxiosHeaders } from 'axios';
import { QueryFailedError } from 'typeorm';
import type { LogFields } from '../../src/platform/log/log.js';
import { createPino, PinoLog } from '../../src/platform/log/pino-log.js';

function logged(err: unknown): string {
  return line({ err });
}

function line(fields: LogFields): string {
  const lines: string[] = [];
  const log = new PinoLog(
    createPino({ level: 'info', format: 'json' }, { write: (line: string) => void lines.push(line) }),
  );
  log.error('request failed', fields);
  return lines.join('');
}

describe('an error in the log', () => {
  it('names the failure of the database, without the values of the statement', () => {
    const driver = Object.assign(new Error('duplicate key'), {
      code: '23505',
      constraint: 'users_pkey',
      detail: 'value-1',
    });
    const line = logged(new Error('outer', { cause: new QueryFailedError('INSERT …', ['value-2'], driver) }));

    expect(line).toContain('users_pkey');
    expect(line).toContain('23505');
    expect(line).not.toMatch(/value-/);
  });

  it('names the failure of a request, without its headers', () => {
    const headers = new AxiosHeaders({ Authorization: 'Bearer value-3' });
    const line = logged(new AxiosError('socket hang up', 'ECONNRESET', { headers, data: 'value-4' }));

    expect(line).toContain('ECONNRESET');
    expect(line).not.toMatch(/value-/);
  });

  it.each([
    ['a text', 'a text'],
    [{ password: 'value-5' }, 'not an Error'],
    [undefined, '"msg"'],
  ])('of %p', (thrown, expected) => {
    expect(logged(thrown)).toContain(expected);
    expect(logged(thrown)).not.toMatch(/value-/);
  });
});

describe('an object in the log', () => {
  it('is written without its secrets', () => {
    const written = line({ sent: { method: 'GET', headers: { cookie: 'value-6' }, authorization: 'value-7' } });

    expect(written).toContain('GET');
    expect(written).not.toMatch(/value-/);
  });
});
