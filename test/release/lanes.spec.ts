import { readdirSync } from 'node:fs';
import { LANES, lanesOf, stepsOf } from '../../.ci/lanes.mjs';

const ALL = Object.keys(LANES);

describe('lanes of a landing', () => {
  it.each<[string, string[], string[]]>([
    ['a document', ['docs/api.md', 'CHANGELOG.md'], []],
    ['a spec beside its source', ['src/grants/domain/grant.spec.ts'], []],
    ['the guide that is walked on an engine', ['docs/migrate.md'], ['real-parts']],
    ['a page of the console', ['src/console/browser/pages/me.tsx'], ['console', 'image-node', 'real-parts']],
    ['a test of the console', ['test/console/sql.page-spec.ts'], ['console']],
    ['the chart', ['helm/grantline/values.yaml'], ['real-parts', 'chart']],
    ['a route', ['src/auth/auth.controller.ts'], ['console', 'image-node', 'real-parts', 'api']],
    ['a body', ['src/grants/grants.dto.ts'], ['console', 'image-node', 'real-parts', 'api']],
    ['the compiler', ['src/trino-rules/compile/compile.ts'], ['console', 'image-node', 'real-parts', 'access-control']],
    [
      "the proof's worlds",
      ['test/support/snapshots/any-rules.ts'],
      ['console', 'image-node', 'real-parts', 'access-control'],
    ],
    ['the signature of a release', ['.ci/release/sign.ts'], ['release']],
    ['another engine', ['test/stack/parts/trino.ts'], ALL.filter((lane) => lane !== 'console')],
  ])('of %s', (_, changed, lanes) => {
    expect(lanesOf(changed)).toEqual(lanes);
  });

  it('are the ones that any of the files needs', () => {
    expect(lanesOf(['docs/api.md', '.ci/release/sign.ts', 'test/console/sql.page-spec.ts'])).toEqual([
      'console',
      'release',
    ]);
  });

  it.each(['package-lock.json', '.ci/run', '.ci/lanes.mjs', 'jest.config.js', 'build.js', 'a-new-folder/file'])(
    'are all of them for %s, which no lane names',
    (file) => {
      expect(lanesOf(['docs/api.md', file])).toEqual(ALL);
    },
  );

  it('are all of them where nobody knows what has changed', () => {
    expect(lanesOf(null)).toEqual(ALL);
    expect(stepsOf(ALL)).toEqual([['console'], ['image-node'], ['stack']]);
  });
});

describe('specs of the real parts', () => {
  const files = readdirSync('test/stack', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.stack-spec.ts'))
    .map((name) => `test/stack/${name}`);
  const selected = (changed: string[]): string[] => {
    const [, option = '', pattern = ''] = stepsOf(lanesOf(changed)).find(([suite]) => suite === 'stack') ?? [];
    if (option === '') return files;
    if (option !== '--testPathIgnorePatterns') return files.filter((file) => new RegExp(option).test(file));
    return files.filter((file) => !new RegExp(pattern).test(file));
  };

  it.each(Object.entries(LANES).filter(([, { specs }]) => specs !== undefined))(
    'of the lane %s exist, are in no other one, and run with each other and when they change',
    (lane, { specs = '' }) => {
      const own = files.filter((file) => new RegExp(specs).test(file));
      const elsewhere = Object.entries(LANES).filter(
        ([other, { specs: theirs }]) => other !== lane && theirs !== undefined,
      );

      expect(own).not.toEqual([]);
      for (const [, { specs: theirs = '' }] of elsewhere)
        expect(own.filter((file) => new RegExp(theirs).test(file))).toEqual([]);
      for (const file of own) expect(selected([file])).toEqual(expect.arrayContaining([file]));
    },
  );

  it('are a release alone for its scripts, and those of the running service for a service', () => {
    expect(selected(['.ci/release/sign.ts'])).toEqual(['test/stack/release.stack-spec.ts']);
    const ofService = selected(['src/users/user.store.ts']);
    expect(ofService).toEqual(expect.arrayContaining(['test/stack/chart/pods.stack-spec.ts']));
    expect(ofService).not.toEqual(expect.arrayContaining(['test/stack/chart/scores.stack-spec.ts']));
  });
});
