import { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { readLeniently } from '../check/lenient-reader.js';
import { readGuarantees, testForeignGuarantees } from './foreign-guarantees.js';

it('names the rules behind many breaches without reading the file again for each', () => {
  const settings = { serviceAccounts: [], metadataCatalog: null };
  const sentence = {
    name: 'nobody reads',
    kind: 'never',
    principal: { type: 'everyone' },
    resource: { catalog: 'lake' },
  };
  const reading = readGuarantees({ guarantees: [{ ...sentence, privileges: ['SELECT'] }] }, settings);
  const tables = Array.from({ length: 500 }, (_, i) => ({
    ...{ user: `u${i}[.]x`, catalog: 'lake', table: `t${i}`, privileges: ['SELECT'] },
  }));
  const { rules } = readLeniently(JSON.stringify({ catalogs: [{ allow: 'all' }], tables, queries: [] }));
  if (reading.kind === 'refused' || rules === null) throw new Error('refused');
  const test = testForeignGuarantees(rules, reading.namedGuarantees, null, settings, new WorkBudget(5_000_000));
  const [verdict] = test.kind === 'judged' ? test.verdicts : [];
  expect(verdict?.brokenBy).toBe(500);
  expect(verdict?.breaches.map(({ person, rule }) => `${person} ${rule?.place}`).slice(0, 2)).toEqual([
    'u0.x tables[0]',
    'u1.x tables[1]',
  ]);
});
