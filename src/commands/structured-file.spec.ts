import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnusableInput } from './output.js';
import { problemLines, readStructured, structuredText } from './structured-file.js';
import { sharedFolder } from '../../test/support/service/shared-folder.js';

describe('a file of JSON or YAML', () => {
  const folder = sharedFolder('structured-file-');
  const file = join(folder, 'file');
  let remarks: string[];
  const report = (line: string): void => void remarks.push(line.replace(`${file}: `, ''));

  beforeEach(() => {
    remarks = [];
  });

  const read = async (content: string | Uint8Array) => {
    await writeFile(file, content);
    return readStructured(file);
  };
  const refusal = (path: string): string[] => {
    try {
      readStructured(path);
      return [];
    } catch (error) {
      if (!(error instanceof UnusableInput)) throw error;
      return error.problems.map((line) => line.replace(`${file}: `, ''));
    }
  };
  const at = (line: number, column: number, message: string) => [`line ${line}, column ${column}: ${message}`];

  it.each([
    ['JSON', '{"a": [1, "b", null]}'],
    ['JSON behind a byte order mark', '\ufeff\n{"a": [1, "b", null]}'],
    ['YAML', '# rows\na: [1, "b", null]'],
    ['YAML behind a byte order mark', '\ufeffa:\n- 1\n- b\n- null'],
  ])('is read: %s', async (_, content) => {
    expect(await read(content)).toEqual({ a: [1, 'b', null] });
  });

  it.each(['', 'null', '[]', '5', '---'])('may hold something else than a snapshot: %j', async (content) => {
    await writeFile(file, content);
    expect(refusal(file)).toEqual([]);
  });

  it.each<[string, string | Uint8Array, string[]]>([
    ['no end', '{"a": 1,\n "b": [', at(2, 8, 'unexpected end of the text: a value is missing')],
    ['a key twice', '{"a": [{"b": 1, "b": 2}]}', at(1, 17, 'duplicate key "b"')],
    ['half a character', '{"a": "\\ud800"}', at(1, 7, 'lone surrogate in a string')],
    ['a NUL at the end', '{"a": 1}\0', at(1, 9, 'unexpected text after the JSON value')],
    ['brackets without end', '['.repeat(1e6), at(1, 66, 'nested more than 64 levels deep')],
    ['Latin-1', Buffer.from('{"a": "ä"}', 'latin1'), at(1, 8, 'from here on the file is not UTF-8')],
    ['UTF-16', Buffer.from('\ufeff{"a": 1}', 'utf16le'), at(1, 1, 'the file is UTF-16, not UTF-8')],
    ['Latin-1 in YAML', Buffer.from('a: 1\nb: ä\n', 'latin1'), at(2, 4, 'from here on the file is not UTF-8')],
    ['a key twice in YAML', 'a: 1\nb:\n  c: 1\n  "c": 2\n', at(4, 3, 'duplicate key "c"')],
    ['a NUL in YAML', 'a: 1\nb: "\0"\n', at(2, 5, 'a NUL character')],
    ['an alias', 'a: &x [1]\nb: *x\n', at(2, 4, 'the alias *x: write the value out')],
    ['a merge key', 'a: &x {c: 1}\nb:\n  <<: *x\n', at(3, 7, 'the alias *x: write the value out')],
    ['a tag', 'a: !mine b\n', at(1, 4, 'Unresolved tag: !mine')],
    ['a second document', 'a: 1\n---\na: 2\n', at(2, 1, 'a second document begins')],
    ['a number as key', 'a: 1\n2: 3\n', at(2, 1, 'a key must be a string')],
    ['a list as key', 'a: 1\n? [b]\n: 3\n', at(2, 3, 'a key must be a string')],
    ['deep YAML', `a: ${'['.repeat(100_000)}`, [expect.stringContaining('nested too deeply') as string]],
    [
      'tokens without end',
      `a: [${'b,'.repeat(1_600_000)}]`,
      at(1, 1, 'more than 3000000 tokens of YAML; write it as JSON'),
    ],
  ])('is refused with the place: %s', async (_, content, told) => {
    await writeFile(file, content);
    expect(refusal(file)).toEqual(told);
  });

  it.each([
    [2 ** 40, 'has more than the 400 MB that are read'],
    [9_000_000, 'has more than the 8 MB that are read of YAML; of JSON it is 400 MB'],
  ])('is refused by its size: %d bytes', async (bytes, told) => {
    await writeFile(file, 'a');
    await truncate(file, bytes);
    expect(refusal(file)).toEqual([told]);
  });

  it('cannot be a folder', () => {
    expect(refusal(folder)).toEqual([`${folder}: is a directory`]);
  });

  it('of YAML may have very many keys', async () => {
    const keys = Array.from({ length: 50_000 }, (_, i) => `key${i}: 1\n`);
    await writeFile(file, [...keys, 'key5: 1'].join(''));
    expect(refusal(file)).toEqual(at(50_001, 1, 'duplicate key "key5"'));
  });

  it.each(['json', 'yaml'] as const)('is written as it is read: %s', async (format) => {
    const value = { version: 1, names: ['a: b', 'é', ' x\n', '1'], rows: [{ at: null, on: true }] };
    expect(await read(structuredText(value, format, report))).toEqual(value);
    expect(remarks).toEqual([]);
  });

  it.each(['json', 'yaml'] as const)('has what commands a terminal in escapes alone: %s', async (format) => {
    const value = { 'key\u202e': ['\u001b[2J', 'a\u009b', 'a\u202eb', 'two\nlines\u2066', 'a\r'] };
    const text = structuredText(value, format, report);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2066]/);
    expect(await read(text)).toEqual(value);
  });

  it('that is too large to be read as YAML is written with a remark', () => {
    structuredText(['x'.repeat(9_000_000)], 'yaml', report);
    expect(remarks).toEqual(['snapshot apply reads no YAML of this size: write it as JSON']);
  });

  it('has each problem on one short line, and the first hundred', () => {
    const hostile = { path: `a\u001b[2J\n${'k'.repeat(1e6)}`, message: 'is not\r\na known\u202e field' };
    const lines = problemLines(
      file,
      Array.from({ length: 102 }, () => hostile),
    ).map((line) => line.replace(`${file}: `, ''));
    expect(lines).toHaveLength(101);
    expect(lines[0]).toMatch(/^a�\[2J k+… is not a known� field$/);
    expect(lines[0]?.length).toBeLessThan(400);
    expect(lines[100]).toBe('2 more problems');
  });
});
