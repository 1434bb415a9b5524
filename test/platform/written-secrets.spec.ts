import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN_BYTES, newTokenText } from '../../src/identity/tokens/domain/api-token.js';
import { assertNoLoggedTokens, loggedTokens } from '../support/service/logged-tokens.js';
import { leaksOfFile, noteSecrets, noteStatement, recordOutput, TEST_SECRET } from '../support/service/secrets.js';
import { sharedFolder } from '../support/service/shared-folder.js';

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

describe('the logs of a run', () => {
  const folder = sharedFolder('logged-tokens-');

  it('are searched for API tokens, by their checksum, in every folder', () => {
    const { id, text } = newTokenText(randomBytes(TOKEN_BYTES));
    mkdirSync(join(folder, 'engine'));
    writeFileSync(join(folder, 'a.log'), `glt_${'x'.repeat(57)}`);
    writeFileSync(join(folder, 'stored'), text);
    expect(loggedTokens(folder)).toEqual([]);

    writeFileSync(join(folder, 'engine', 'b.log'), `one\n{"header":"Bearer ${text}"}\n${text}`);
    expect(loggedTokens(folder)).toEqual([`engine/b.log: the API token ${id}`]);
    expect(() => assertNoLoggedTokens(folder)).toThrow(`the API token ${id}`);
  });
});
