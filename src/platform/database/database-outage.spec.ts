import { DatabaseError } from 'pg';
import { QueryFailedError, QueryRunnerAlreadyReleasedError } from 'typeorm';
import { isDatabaseOutage } from './database-outage.js';

/** As PostgreSQL answers. */
function answer(code: string): DatabaseError {
  return Object.assign(new DatabaseError('an error', 8, 'error'), { code, severity: 'FATAL' });
}

const system = (code: string): Error => Object.assign(new Error(code), { code, syscall: 'connect' });

/** As Node reports a host with several addresses: without `syscall` and message. */
const several = (...errors: Error[]): Error => Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' });

describe('an outage of the database', () => {
  it.each([
    ['a refused connection', system('ECONNREFUSED')],
    ['a refused connection to each of several addresses', several(system('ECONNREFUSED'), system('ETIMEDOUT'))],
    ['a machine that is gone', system('EHOSTUNREACH')],
    ['a network that is gone', system('ENETUNREACH')],
    ['a socket file that is gone', system('ENOENT')],
    ['a stop by an administrator', answer('57P01')],
    ['a crash of another connection', answer('57P02')],
    ['a start that is not over', answer('57P03')],
    ['no connection left', answer('53300')],
    ['a broken connection', answer('08006')],
    ['a statement that took too long', answer('57014')],
    ['a lock that took too long', answer('55P03')],
    ['a primary that has become a standby, or a full disk at a provider', answer('25006')],
    ['a password that was replaced', answer('28P01')],
    ['a database that was renamed away', answer('3D000')],
    ['a disk that cannot be read', answer('58030')],
    ['the same through the ORM', new QueryFailedError('SELECT 1', [], answer('57P01'))],
    ['a query of a lost transaction', new QueryRunnerAlreadyReleasedError()],
    ['a connection that ended', new Error('Connection terminated unexpectedly')],
    ['a query without an answer', new Error('Query read timeout')],
  ])('is %s', (_, error) => {
    expect(isDatabaseOutage(error)).toBe(true);
  });

  it.each([
    ['a violated constraint', answer('23505')],
    ['a deadlock', answer('40P01')],
    ['a right that is missing', answer('42501')],
    ['a transaction of its own that may only read', answer('25001')],
    ['a code of something else', Object.assign(new Error('ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ['a file that is gone', Object.assign(new Error('ENOENT'), { code: 'ENOENT', syscall: 'open' })],
    ['a text', 'Connection terminated'],
    ['nothing', undefined],
  ])('is not %s', (_, error) => {
    expect(isDatabaseOutage(error)).toBe(false);
  });
});
