import { unpackLz4 } from './lz4-block.js';
import { ProtocolBreach } from './reading.js';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Written by lz4 4.4. */
const BLOCKS: Readonly<Record<string, [block: string, text: string]>> = {
  literals: ['UGhlbGxv', 'hello'],
  'a match that repeats itself': ['H2EBAEtQYWFhYWE=', 'a'.repeat(100)],
  'a long run of literals': [`8AphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5`, 'abcdefghijklmnopqrstuvwxy'],
  'long runs that do not reach into what they write': [
    '/zAwMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXpBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWi0/ACyQZW5kIG9mIGl0',
    `${ALPHABET}-${ALPHABET}-end of it`,
  ],
  nothing: ['AA==', ''],
};

describe('blocks of LZ4', () => {
  it.each(Object.entries(BLOCKS))('unpack: %s', (_, [block, text]) => {
    expect(unpackLz4(Buffer.from(block, 'base64'), text.length).toString()).toBe(text);
  });

  it.each([
    ['another size', 'UGhlbGxv', 6],
    ['a smaller one', 'UGhlbGxv', 4],
    ['literals that are not there', 'cGhl', 7],
    ['a match before the beginning', 'EGEFAA==', 6],
    ['a match with itself', 'EGEAAA==', 6],
    ['a match beyond the end', 'H2EBAEtQYWFhYWE=', 50],
    ['a length without an end', '/////w==', 2000],
  ])('are refused: %s', (_, block, size) => {
    expect(() => unpackLz4(Buffer.from(block, 'base64'), size)).toThrow(ProtocolBreach);
  });
});
