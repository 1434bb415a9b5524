import { readStatementPage } from './statement-page.js';

const column = (rawType: string): object => ({ name: 'a', type: rawType, typeSignature: { rawType, arguments: [] } });
const body = (...members: string[]): Buffer => Buffer.from(`{"id":"q",${members.join(',')},"stats":{}}`);
const columns = (rawType: string): string => `"columns":${JSON.stringify([column(rawType)])}`;
const rows = '"data":[[1],[2]]';

describe('rows of a page', () => {
  it.each([
    ['of scalars, read in order', 'bigint', true, false],
    ['that anybody may read', 'bigint', false, true],
    ['with lists in them', 'hidden', true, true],
  ])('%s', (_, type, readsInOrder, isScanned) => {
    const page = readStatementPage(body(columns(type), rows), Infinity, readsInOrder);

    expect([page.rows.length, page.unscanned === null]).toEqual(isScanned ? [2, true] : [0, false]);
  });

  it('are looked through where their columns come behind them', () => {
    const page = readStatementPage(body('"updateType":null', columns('bigint'), rows), Infinity, true);
    const late = readStatementPage(body(rows, columns('bigint')), Infinity, true);

    expect([page.unscanned === null, late.unscanned === null]).toEqual([false, true]);
    expect([late.rows.length, late.columns?.length]).toEqual([2, 1]);
  });
});
