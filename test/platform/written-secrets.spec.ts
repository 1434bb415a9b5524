import { leaksOfFile, noteSecrets, noteStatement, recordOutput, TEST_SECRET } from '../support/service/secrets.js';

describe('what services and processes have written', () => {
  it('is searched for secrets, in settings and bodies, and for statements, as they are and as JSON', () => {
    const written = [
      'a password: correct horse',
      JSON.stringify({ sql: 'SELECT "salary"\nFROM staff' }),
      'database: of the database',
      TEST_SECRET,
      'Authorization: Bearer abcdefghijklmnop',
      'nothing of it',
    ];
    recordOutput('out', { DATABASE_URL: 'postgres://me:of%20the%20database@h/d' }, () => written.join('\n'));
    noteSecrets({ password: 'correct horse' });
    noteStatement('SELECT "salary"\nFROM staff');

    expect(leaksOfFile()).toEqual(written.slice(0, -1).map((line) => `out: ${line}`));
  });

  it('is forgotten with its file', () => {
    recordOutput('out', {}, () => 'correct horse');
    expect(leaksOfFile()).toEqual([]);
  });
});
