import { cutChangelog, follows, sectionOf } from '../../.ci/release/changelog.js';

const CHANGELOG = `# Changelog

## Unreleased

### Added

- The second thing.

## 0.1.0 - 2026-10-01

### Added

- The first thing.
`;

describe('the changelog at a release', () => {
  it('has what was unreleased under the version, and room for what comes next', () => {
    const cut = cutChangelog(CHANGELOG, '0.2.0', '2026-11-25');

    expect(sectionOf(cut, '## Unreleased')).toBe('');
    expect(sectionOf(cut, '## 0.2.0')).toBe('### Added\n\n- The second thing.');
    expect(sectionOf(cut, '## 0.1.0')).toBe('### Added\n\n- The first thing.');
  });

  it('is refused without anything new, and for a version that it has', () => {
    const cut = cutChangelog(CHANGELOG, '0.2.0', '2026-11-25');

    expect(() => cutChangelog(cut, '0.3.0', '2026-11-26')).toThrow('nothing under Unreleased');
    expect(() => cutChangelog(CHANGELOG, '0.1.0', '2026-11-26')).toThrow('has a section 0.1.0');
  });

  it('finds no section by the beginning of another version', () => {
    expect(sectionOf(CHANGELOG, '## 0.1')).toBeNull();
  });
});

it.each([
  ['0.2.0', '0.1.0', true],
  ['0.10.0', '0.9.3', true],
  ['1.0.0', '0.9.3', true],
  ['0.1.0', '0.1.0', false],
  ['0.1.9', '0.2.0', false],
  ['0.2', '0.1.0', false],
  ['0.2.0-rc.1', '0.1.0', false],
  ['v0.2.0', '0.1.0', false],
])('%s after %s: %s', (next, former, expected) => {
  expect(follows(next, former)).toBe(expected);
});
