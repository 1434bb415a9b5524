import { importCase, publishedCases, reportText, snapshotText } from './published-cases.js';

describe('the import of rules files as people publish them', () => {
  const cases = publishedCases();

  it('has twenty of them and more', () => {
    expect(cases.length).toBeGreaterThanOrEqual(20);
  });

  it.each(cases)('says in grants what can be said, and lists the rest: $name', async (published) => {
    const imported = await importCase(published);
    expect(snapshotText(imported.snapshot)).toBe(published.snapshot);
    expect(reportText(imported)).toBe(published.report);
  });
});
