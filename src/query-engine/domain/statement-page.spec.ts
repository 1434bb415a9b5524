import { ProtocolBreach } from './reading.js';
import { readStatementPage } from './statement-page.js';

const COLUMN = { name: 'a', type: 'bigint', typeSignature: { rawType: 'bigint', arguments: [] } };

describe('a page', () => {
  it.each([
    ['before its columns', ['"data":[[1],[2]]', `"columns":[${JSON.stringify(COLUMN)}]`]],
    ['behind them', [`"columns":[${JSON.stringify(COLUMN)}]`, '"data":[[1],[2]]']],
  ])('has its rows %s', (_, members) => {
    const page = readStatementPage(Buffer.from(`{"id":"q",${members.join(',')},"stats":{}}`));

    expect([page.rows.length, page.columns?.length]).toEqual([2, 1]);
  });

  it.each(['[]', '{"id":"q",1:2}', '{"id":"q","data":{"encoding":"json"}}', '{"id":"q"', '{"id":"q",}', '{"id":"q"}}'])(
    'is not %s',
    (body) => {
      expect(() => readStatementPage(Buffer.from(body))).toThrow(ProtocolBreach);
    },
  );
});
