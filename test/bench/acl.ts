import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * npm run bench:acl [-- team enterprise extreme]: what compiled rules cost, against what they would cost otherwise. Worlds are
 * generated, skewed and repeatable; every measurement has a process of its own, so that its peak memory is its own.
 */
interface Measurement {
  rules?: number;
  bytes: number;
  ms: number;
  peakMiB: number;
  gzip?: number;
  people?: number;
}

const WORLDS = [
  { size: 'team', factor: 1, ways: ['ours', 'names in full', 'person by person', 'floor'] },
  { size: 'enterprise', factor: 0.3, ways: ['ours', 'names in full', 'person by person', 'floor'] },
  { size: 'enterprise', factor: 1, ways: ['ours', 'names in full', 'person by person', 'floor'] },
  { size: 'extreme', factor: 1, ways: ['ours', 'names in full', 'floor'] },
];
const asked = process.argv.slice(2);
const header = ['world', 'names', 'way', 'table rules', 'KiB', 'gzip KiB', 'ms', 'peak MiB', 'times ours'];
const rows: string[][] = [header];

for (const { size, factor, ways } of WORLDS.filter(({ size }) => asked.length === 0 || asked.includes(size))) {
  for (const names of ['numbered', 'real-like']) {
    let ours: number | null = null;
    for (const way of ways) {
      const measured = measure(size, factor, names, way);
      ours ??= measured.bytes;
      rows.push([
        factor === 1 ? size : `${size} × ${factor}`,
        names,
        way,
        measured.rules?.toLocaleString('en') ?? '',
        kibibytes(measured.bytes),
        measured.gzip === undefined ? '' : kibibytes(measured.gzip),
        measured.ms.toLocaleString('en'),
        String(measured.peakMiB),
        (measured.bytes / ours).toFixed(2),
      ]);
    }
  }
}
console.log(table(rows));

function measure(size: string, factor: number, names: string, way: string): Measurement {
  const script = join(import.meta.dirname, 'acl-measure.ts');
  const args = [...process.execArgv, script, size, String(factor), names, way];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${size} ${names} ${way}: ${stderr}`);
  return JSON.parse(stdout) as Measurement;
}

function kibibytes(bytes: number): string {
  return Math.round(bytes / 1024).toLocaleString('en');
}

function table(lines: readonly string[][]): string {
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n');
}
