import { createServer, type AddressInfo } from 'node:net';
import { Client } from 'pg';
import { runOnDatabase, databaseFailure, listenOn } from './start-failure.js';

const failureOf = (code: string, message = 'as the driver says'): string | null =>
  databaseFailure(Object.assign(new Error(message), { code }), 'DATABASE_URL');

describe('a failure at the start', () => {
  it('names the port that is in use, and its setting', async () => {
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
    const { port } = taken.address() as AddressInfo;
    const settings = { host: 'HOST', port: 'PORT' };
    const listen = ({ host, port }: { host: string; port: number }) =>
      new Promise((resolve, reject) =>
        createServer()
          .on('error', reject)
          .listen(port, host, () => resolve(null)),
      );

    await expect(listenOn({ host: '127.0.0.1', port, settingNames: settings }, listen)).rejects.toThrow(
      `127.0.0.1:${port} is in use: end the other process, or set another PORT (0: any free one) (EADDRINUSE)`,
    );
    await expect(listenOn({ host: '192.0.2.1', port: 0, settingNames: settings }, listen)).rejects.toThrow(
      /^192.0.2.1 is no address of this machine: set HOST to one, .* \(EADDRNOTAVAIL\)$/,
    );
    await new Promise((closed) => taken.close(closed));
  });

  it('names the database where nothing listens, and its setting', async () => {
    const connecting = () => new Client({ host: '127.0.0.1', port: 1 }).connect();
    await expect(runOnDatabase({ name: 'grantline@127.0.0.1:1/grantline' }, connecting)).rejects.toThrow(
      'cannot use the database grantline@127.0.0.1:1/grantline: nothing listens there: start PostgreSQL, or correct host and port of DATABASE_URL (ECONNREFUSED)',
    );
  });

  it.each([
    ['ENOTFOUND', 'host name is not known'],
    ['ETIMEDOUT', 'does not answer'],
    ['28P01', 'refuses the sign-in (as the driver says): correct role, password or sslmode of DATABASE_URL'],
    ['28000', 'refuses the sign-in'],
    ['3D000', 'create it, or correct the name in DATABASE_URL'],
    ['42501', 'DATABASE_MIGRATION_URL needs the role that owns the schema'],
    ['53300', 'DATABASE_POOL_MAX'],
    ['57P03', 'try again'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'sslrootcert=FILE in DATABASE_URL'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'sslrootcert=FILE in DATABASE_URL'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'the host that the certificate is for'],
    ['CERT_HAS_EXPIRED', 'certificate is not accepted'],
  ])('of the database, %s, is told with what to do', (code, advice) => {
    expect(failureOf(code)).toContain(advice);
  });

  it('of the driver without a code is known by its words', () => {
    const words = [
      'The server does not support SSL connections',
      'timeout expired',
      'Connection terminated unexpectedly',
      'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
    ];
    expect(words.map((message) => databaseFailure(new Error(message), 'DATABASE_URL'))).toEqual([
      expect.stringContaining('sslmode'),
      expect.stringContaining('does not answer'),
      expect.stringContaining('was cut'),
      expect.stringContaining('refuses the sign-in'),
    ]);
  });

  it('about something else stays what it is', async () => {
    const failure = new Error('relation "users" does not exist');
    await expect(runOnDatabase({ name: 'any' }, () => Promise.reject(failure))).rejects.toBe(failure);
  });
});
