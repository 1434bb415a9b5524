import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { emptyRules, RULES_CONFIGMAP, RULES_NAMESPACE } from './running/config-map.js';
import { writeProjectedVolume } from './running/projected-volume.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const NOW = new Date('2026-11-20T21:45:59.123Z');

describe('a projected volume', () => {
  const volume = mkdtempSync(join(tmpdir(), 'projected-volume-'));
  const write = (files: Record<string, string>) =>
    writeProjectedVolume(volume, new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])), NOW);
  afterAll(() => {
    rmSync(volume, { recursive: true });
  });

  it('shows each file through a link to a folder with a timestamp', async () => {
    await write({ 'rules.json': 'first', 'rules.json.bak': 'none' });
    expect(readlinkSync(join(volume, 'rules.json'))).toBe('..data/rules.json');
    expect(readlinkSync(join(volume, '..data'))).toMatch(/^\.\.2026_11_20_21_45_59\./);
    expect(readFileSync(join(volume, 'rules.json'), 'utf8')).toBe('first');
  });

  it('replaces all of them in one step and keeps nothing of the previous ones', async () => {
    const former = readlinkSync(join(volume, '..data'));
    await write({ 'rules.json': 'second' });
    expect(readFileSync(join(volume, 'rules.json'), 'utf8')).toBe('second');
    expect(readdirSync(volume).sort()).toEqual([readlinkSync(join(volume, '..data')), '..data', 'rules.json'].sort());
    expect(readdirSync(volume)).not.toContain(former);
  });
});

describe('the projection of the ConfigMap', () => {
  const stack = openStack(process.env);
  const projected = (name: string) => readFileSync(join(stack.rulesVolume, name), 'utf8');
  const patch = (content: object) =>
    kubectlOf(stack)(
      ...['patch', 'configmap', RULES_CONFIGMAP, `--namespace=${RULES_NAMESPACE}`],
      ...['--type=merge', `--patch=${JSON.stringify(content)}`],
    );
  const shows = (name: string, text: string) =>
    until(`${name} is projected`, 30_000, () => Promise.resolve(projected(name) === text ? true : undefined));
  afterEach(() => emptyRules(kubectlOf(stack)));

  it('follows its data and its binary data, and shows the rules alone', async () => {
    const [text, binary] = ['{"catalogs": []}', '{"catalogs":[]}'];
    await patch({ data: { 'rules.json': text, 'rules.json.bak': 'former' } });
    await shows('rules.json', text);
    expect(() => projected('rules.json.bak')).toThrow('ENOENT');
    const base64 = Buffer.from(binary).toString('base64');
    await patch({ data: { 'rules.json': null }, binaryData: { 'rules.json': base64 } });
    await shows('rules.json', binary);
  });

  it('denies everything while the ConfigMap is empty', async () => {
    await patch({ data: { 'rules.json': '{}' } });
    await shows('rules.json', '{}');
    await emptyRules(kubectlOf(stack));
    await until('the closed rules are back', 30_000, () =>
      Promise.resolve(projected('rules.json') === '{}' ? undefined : true),
    );
    const rules = JSON.parse(projected('rules.json')) as Record<string, unknown[]>;
    expect(Object.values(rules).flat()).toEqual([]);
    expect(Object.keys(rules)).toContain('catalogs');
  });
});
