import { readdirSync, readFileSync } from 'node:fs';

describe('docs/decisions/README.md', () => {
  it('leads to every record once', () => {
    const records = readdirSync('docs/decisions').filter((file) => /^\d{4}-/.test(file));
    const linked = [...readFileSync('docs/decisions/README.md', 'utf8').matchAll(/\]\((\d{4}-[^)]+)\)/g)];

    expect(linked.map(([, file]) => file).sort()).toEqual(records.sort());
  });
});

describe('decision records', () => {
  it('name files that exist', () => {
    const filesIn = (folder: string) =>
      readdirSync(folder, { recursive: folder !== '.', encoding: 'utf8' }).map((file) => `/${folder}/${file}`);
    const files = ['.', '.ci', 'image', 'src', 'test'].flatMap(filesIn);
    const texts = readdirSync('docs/decisions').map((record) => readFileSync(`docs/decisions/${record}`, 'utf8'));
    const namedFiles = [...texts.join('\n').matchAll(/`([\w./-]+\.(?:[jt]s|mjs|sh))`/g)].map(([, file]) => `/${file}`);

    expect(namedFiles.length).toBeGreaterThan(50);
    expect(namedFiles.filter((named) => !files.some((file) => file.endsWith(named)))).toEqual([]);
  });
});
