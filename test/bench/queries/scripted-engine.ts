// `scripted-engine.js`: an engine whose pages are made beforehand and cost it next to nothing to send. Statements name a table
// and a number of rows: `SELECT narrow 100000`. Any other has one row of one column.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Table {
  columns: unknown[];
  row: (row: number) => string;
}
/** Rows that a result repeats page by page, and all of them as the bytes of `data`. */
interface Data {
  rows: string[];
  bytes: Buffer;
}
interface Statement {
  data: Data;
  columns: string;
  sent: number;
  left: number;
  newest: { token: number; parts: Buffer[] } | null;
}

const FIRST_ROW = 1_000_000;
const PAGE = 1_000_000;
/** That can be asked for. */
const STATEMENTS = 100;

const column = (name: string, type: string) => ({
  name,
  type,
  typeSignature: { rawType: type.replace(/\(.*/, ''), arguments: ARGUMENTS[type] ?? [] },
});
const long = (value: number) => ({ kind: 'LONG', value });
const ARGUMENTS: Record<string, unknown[]> = {
  'varchar(40)': [long(40)],
  'decimal(18,4)': [long(18), long(4)],
  'decimal(38,10)': [long(38), long(10)],
  'timestamp(6)': [long(6)],
  'timestamp(3)': [long(3)],
};
const two = (number: number) => String(number).padStart(2, '0');
const moment = (row: number) =>
  `2026-${two((row % 12) + 1)}-${two((row % 28) + 1)} ${two(row % 24)}:${two(row % 60)}:00.`;

const TABLES: Record<string, Table> = {
  narrow: {
    columns: [column('id', 'bigint'), column('name', 'varchar(40)')],
    row: (row) => `[${row},"name ${row}"]`,
  },
  wide: {
    columns: [
      column('id', 'bigint'),
      ...Array.from({ length: 6 }, (_, at) => column(`text_${at}`, 'varchar(40)')),
      ...Array.from({ length: 4 }, (_, at) => column(`number_${at}`, 'integer')),
      ...Array.from({ length: 2 }, (_, at) => column(`double_${at}`, 'double')),
      ...[column('price', 'decimal(18,4)'), column('day', 'date'), column('at', 'timestamp(3)')],
    ],
    row: (row) =>
      `[${[
        row,
        ...Array.from({ length: 6 }, (_, at) => `"text of column ${at} and row ${row}"`),
        ...[row % 7, row % 1000, -row, row * 3],
        ...[`${row / 4}${row % 4 === 0 ? '.0' : ''}`, `${(row + 0.1) / 3}`],
        ...[`"${row}.2500"`, `"2026-01-${two((row % 28) + 1)}"`, `"${moment(row)}123"`],
      ].join(',')}]`,
  },
  numbers: {
    columns: [
      ...Array.from({ length: 4 }, (_, at) => column(`decimal_${at}`, at < 2 ? 'decimal(18,4)' : 'decimal(38,10)')),
      ...Array.from({ length: 3 }, (_, at) => column(`at_${at}`, 'timestamp(6)')),
    ],
    row: (row) =>
      `[${[
        ...[`"${row}.1250"`, `"-${row}.0001"`, `"${row}12345678901234.0123456789"`, `"0.${row}"`],
        ...Array.from({ length: 3 }, (_, at) => `"${moment(row + at)}123456"`),
      ].join(',')}]`,
  },
};

/** So many rows of a table as the `data` of one page. */
function dataOf(table: Table): Data {
  const rows: string[] = [];
  for (let [row, bytes] = [FIRST_ROW, 0]; bytes < PAGE; row += 1) {
    const text = table.row(row);
    rows.push(text);
    bytes += text.length + 1;
  }
  return { rows, bytes: Buffer.from(rows.join(',')) };
}
const data: Record<string, Data> = Object.fromEntries(
  Object.entries(TABLES).map(([name, table]) => [name, dataOf(table)]),
);

const statements = new Map<string, Statement>();
let last = 0;

const stats = (state: string) => ({
  ...{ state, queued: false, scheduled: true, nodes: 1, totalSplits: 1, queuedSplits: 0, runningSplits: 1 },
  ...{ completedSplits: 0, planningTimeMillis: 1, analysisTimeMillis: 1, cpuTimeMillis: 1, wallTimeMillis: 1 },
  ...{ queuedTimeMillis: 1, elapsedTimeMillis: 1, finishingTimeMillis: 0, physicalInputTimeMillis: 0 },
  ...{
    processedRows: 1,
    processedBytes: 1,
    physicalInputBytes: 0,
    physicalWrittenBytes: 0,
    internalNetworkInputBytes: 0,
  },
  ...{ peakMemoryBytes: 1, spilledBytes: 0, progressPercentage: 50 },
});

function submit(sql: string, user: unknown, origin: string): string {
  last += 1;
  const id = `20261126_000000_${String(last).padStart(5, '0')}_bench`;
  const [, name = '', count = '1'] = /(narrow|wide|numbers) (\d+)/.exec(sql) ?? [];
  const one = `[${sql.includes('current_user') ? JSON.stringify(user) : '1'}]`;
  statements.set(id, {
    data: data[name] ?? { rows: [one], bytes: Buffer.from(one) },
    columns: JSON.stringify(TABLES[name]?.columns ?? [column('_col0', one === '[1]' ? 'integer' : 'varchar(40)')]),
    ...{ sent: 0, left: Number(count), newest: null },
  });
  for (const [oldest] of statements) if (statements.size > STATEMENTS) statements.delete(oldest);
  const nextUri = `${origin}/v1/statement/queued/${id}/y1/0`;
  return JSON.stringify({
    id,
    infoUri: `${origin}/ui/query.html?${id}`,
    nextUri,
    stats: stats('QUEUED'),
    warnings: [],
  });
}

/** The newest page again where it is asked for again; the one after it otherwise. */
function page(id: string, token: number, origin: string): Buffer[] | null {
  const statement = statements.get(id);
  if (statement === undefined) return null;
  if (statement.newest?.token === token) return statement.newest.parts;
  const { columns, sent, left } = statement;
  const { count, rows } = nextRows(statement);
  statement.sent = sent + count;
  statement.left = left - count;
  const isLast = statement.left === 0;
  const next = isLast ? '' : `"nextUri":"${origin}/v1/statement/executing/${id}/y1/${token + 1}",`;
  const head = `{"id":"${id}","infoUri":"${origin}/ui/query.html?${id}",${next}"columns":${columns},"data":`;
  const tail = `,"stats":${JSON.stringify(stats(isLast ? 'FINISHED' : 'RUNNING'))},"warnings":[]}`;
  const parts = [Buffer.from(head), ...rows, Buffer.from(tail)];
  statement.newest = { token, parts };
  return parts;
}

function nextRows({ data, left }: Statement): { count: number; rows: Buffer[] } {
  const count = Math.min(left, data.rows.length);
  const bytes = count === data.rows.length ? data.bytes : Buffer.from(data.rows.slice(0, count).join(','));
  return { count, rows: [Buffer.from('['), bytes, Buffer.from(']')] };
}

const server = createServer((request, response) => {
  const origin = `http://${request.headers.host ?? ''}`;
  if (request.method === 'POST') {
    let sql = '';
    request.on('data', (chunk: Buffer) => (sql += chunk.toString()));
    request.on('end', () => {
      const user = request.headers['x-query-user'] ?? request.headers['x-trino-user'];
      const body = submit(sql, user, origin);
      response
        .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
        .end(body);
    });
    return;
  }
  const url = request.url ?? '';
  const [, , , , id = '', , token] = url.split(/[/?]/);
  if (request.method !== 'GET') {
    statements.delete(id);
    response.writeHead(request.method === 'HEAD' ? 200 : 204).end();
    return;
  }
  const parts = page(id, Number(token), origin);
  if (parts === null) {
    response.writeHead(410).end('Gone');
    return;
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': length });
  for (const part of parts) response.write(part);
  response.end();
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
