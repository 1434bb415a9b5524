import { readFileSync } from 'node:fs';
import { checkCodes, checkOf } from './checks.js';

describe('docs/checks.md', () => {
  it('explains every code as --explain does, in its order', () => {
    const [, ...sections] = readFileSync('docs/checks.md', 'utf8').split(/^### /m);
    const documented = sections.map((section) => section.replace(/\s+/g, ' ').trim());
    const expected = checkCodes().map((code) => {
      const { severity = '', explanation = '' } = checkOf(code) ?? {};
      return `\`${code}\` ${severity[0]?.toUpperCase() ?? ''}${severity.slice(1)}. ${explanation}`;
    });
    expect(documented).toEqual(expected);
  });
});
