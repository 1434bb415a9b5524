import { chooseFormat } from './row-encoder.js';

describe('chooseFormat', () => {
  it.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['text/csv', 'csv'],
    ['application/x-ndjson, application/json;q=0.5', 'ndjson'],
    ['application/json;q=0.5, TEXT/CSV ; q=0.9', 'csv'],
    ['text/csv;q=0, application/x-ndjson', 'ndjson'],
    ['text/html, */*;q=0.1', 'json'],
    ['image/png', 'json'],
  ])('%s', (accept, format) => {
    expect(chooseFormat(accept)).toBe(format);
  });
});
