import { runGrantline } from '../support/service/grantline-process.js';

describe('starting in production', () => {
  it('lists everything that is missing or weak at once, and ends with 78', async () => {
    const { code, stderr } = await runGrantline(['serve'], {
      NODE_ENV: 'production',
      AUTH_SECRET_KEY: 'weak',
      AUTH_BCRYPT_COST: '4',
    });

    expect(code).toBe(78);
    expect(stderr).toContain('DATABASE_URL is required in production');
    expect(stderr).toContain('AUTH_SECRET_KEY is weak');
    expect(stderr).toContain('AUTH_BCRYPT_COST must be a whole number from 10 to 15');
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it('reads a secret from a file, and refuses it given twice', async () => {
    const both = await runGrantline(['serve'], { AUTH_SECRET_KEY: 'x'.repeat(40), AUTH_SECRET_KEY_FILE: '/nowhere' });
    const missing = await runGrantline(['serve'], { AUTH_SECRET_KEY_FILE: '/nowhere' });

    expect(both).toMatchObject({ code: 78 });
    expect(both.stderr).toContain('AUTH_SECRET_KEY and AUTH_SECRET_KEY_FILE are both set');
    expect(missing.stderr).toContain('AUTH_SECRET_KEY_FILE points at a file that cannot be read');
  });
});

describe('the command line', () => {
  it('answers wrong usage with 2', async () => {
    expect(await runGrantline(['frobnicate'], {})).toMatchObject({ code: 2 });
  });

  it('lists all commands, those of groups with their group', async () => {
    const { stdout } = await runGrantline(['--help'], {});
    const listed = stdout.split('Commands:')[1]?.match(/^ {2}\S[^[<\n]*?(?= [[<]| {2})/gm) ?? [];
    expect(listed.map((line) => line.trim())).toEqual([
      ...[
        'serve',
        'migrate',
        'users create-admin',
        'users import',
        'acl check',
        'acl diff',
        'acl import',
        'acl test',
        'acl sync',
      ],
      ...[
        'acl compile',
        'acl explain',
        'acl status',
        'acl approve',
        'acl restore',
        'snapshot export',
        'snapshot apply',
      ],
      'verify-retired-route',
    ]);
  });

  it('prints its version', async () => {
    expect(await runGrantline(['--version'], {})).toMatchObject({ code: 0 });
  });
});
