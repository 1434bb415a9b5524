import '@microsoft/jest-sarif';
import { checkFile, unreadableFile } from '../../src/commands/check/check-file.js';
import { sarifReport } from '../../src/commands/check/reports.js';
import { corpusCases } from './corpus-cases.js';

const NO_SETTINGS = { serviceAccounts: [], writableCatalogs: [], readableCatalogs: [], metadataCatalog: null };
const NAMES = ['-', '/etc/trino/rules.json', 'a b/#1?.json', 'C:\\rules.json', '../%zz.json', 'Ünïcode/日本.yaml', ''];

/** By the schema of OASIS, which the matcher's package carries. */
describe('the SARIF log of acl check', () => {
  const checked = (name: string, text: string) => checkFile(name, Buffer.from(text), NO_SETTINGS);

  it('is valid for the findings of the whole corpus', async () => {
    const files = await Promise.all(corpusCases().map(({ name, text }) => checked(name, text)));
    expect(sarifReport(files)).toBeValidSarifLog();
  });

  it('is valid for files with any name, without findings, or that cannot be read', async () => {
    const named = await Promise.all(NAMES.map((name) => checked(name, '{"tables": null}')));
    expect(sarifReport([...named, unreadableFile('missing', 'cannot be read')])).toBeValidSarifLog();
    expect(sarifReport([])).toBeValidSarifLog();
  });

  it('names a file once that is checked twice', async () => {
    const file = await checked('rules.json', '{"tables": null}');
    expect(sarifReport([file, file])).toBeValidSarifLog();
  });
});
