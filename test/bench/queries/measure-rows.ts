import { median, medianRatio, type Ratio } from '../ratio.js';
import type { QueryBench } from './query-bench.js';
import type { Reader } from './reader.js';

const TURNS = 5;
/** Compilers and collectors settle in them. */
const WARMING = 3;
/** Rows of one result: a second or so of the slower clients. */
const TABLES = { narrow: 400_000, wide: 50_000, numbers: 100_000 } as const;

interface Figures {
  perSecond: number[];
  /** Seconds of processor time for a million rows, of the client and, for a stream, of the service. */
  cpu: number[];
  /** Milliseconds to the first row. */
  first: number[];
}

/** Every client reads the same results, in turns. */
export async function measureRows(bench: QueryBench): Promise<Ratio[]> {
  const ratios: Ratio[] = [];
  for (const [table, rows] of Object.entries(TABLES)) ratios.push(...(await measureTable(bench, table, rows)));
  return ratios;
}

async function measureTable(bench: QueryBench, table: string, rows: number): Promise<Ratio[]> {
  const { raw, ours, streams, readers, service } = bench;
  const { javascript } = bench.official;
  const isStream = new Set<Reader>(Object.values(streams));
  const figures = new Map(readers.map((reader): [Reader, Figures] => [reader, { perSecond: [], cpu: [], first: [] }]));
  for (let turn = -WARMING; turn < TURNS; turn += 1) {
    for (const [reader, { perSecond, cpu, first }] of figures) {
      const spent = (): number => reader.cpuSeconds() + (isStream.has(reader) ? service.cpuSeconds() : 0);
      const before = spent();
      const read = await reader.read(`SELECT ${table} ${rows}`);
      if (reader !== raw.bytes && read.rows !== rows) throw new Error(`${reader.name} read ${read.rows} rows`);
      if (turn < 0) continue;
      perSecond.push((rows / read.all) * 1000);
      cpu.push(((spent() - before) / rows) * 1e6);
      first.push(read.first);
    }
  }
  const of = (reader: Reader): Figures => figures.get(reader) ?? { perSecond: [], cpu: [], first: [] };
  const by = (figure: keyof Figures) => (a: Reader, b: Reader) => median(of(a)[figure]) - median(of(b)[figure]);
  const fastest = Object.values(bench.official).sort(by('perSecond')).at(-1) ?? javascript;
  const compare = (what: keyof Figures, one: Reader, other: Reader, target: Ratio['target'] = null): Ratio => ({
    what: `${table}: ${one.name}, ${LABELS[what]}, against ${other.name}`,
    ratio: medianRatio(of(one)[what], of(other)[what]),
    target,
    figures: [one, other].map((reader) => median(of(reader)[what]).toFixed(what === 'perSecond' ? 0 : 2)).join(', '),
  });
  return [
    compare('perSecond', ours, fastest),
    compare('perSecond', ours, raw.parsed),
    compare('cpu', ours, raw.parsed),
    compare('perSecond', streams.ndjson, fastest, { atLeast: 1.2 }),
    compare('perSecond', streams.csv, fastest, { atLeast: 1.2 }),
    compare('perSecond', streams.parsed, fastest),
    compare('cpu', streams.ndjson, javascript, { atMost: 1 }),
    compare('cpu', streams.csv, javascript, { atMost: 1 }),
    compare('first', ours, Object.values(bench.official).sort(by('first'))[0] ?? javascript),
    compare('first', streams.ndjson, Object.values(bench.official).sort(by('first'))[0] ?? javascript),
    compare('perSecond', streams.ndjson, raw.bytes),
    ...Object.values(bench.official).map((client) => compare('perSecond', client, raw.parsed)),
  ];
}

const LABELS: Readonly<Record<keyof Figures, string>> = {
  perSecond: 'rows per second',
  cpu: 'processor time for each million',
  first: 'time to the first row',
};
