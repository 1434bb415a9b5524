import { csvField } from '../../kernel/csv.js';
import type { EngineType } from './engine-type.js';
import { apiConverter, type ApiValue } from './engine-value.js';
import { JsonScanner, parseWithoutRounding } from './json-scanner.js';
import { breachFor, type RowsFormat } from './row-loop.js';

type ContainerType = Extract<EngineType, { kind: 'array' | 'map' | 'row' }>;
type RowType = Extract<EngineType, { kind: 'row' }>;

const QUOTE = 0x22;

/** Lists and maps of more bytes are converted in parts of about this size. A part takes some 20 ms. */
const PART_BYTES = 32_768;

/**
 * Writes rows in parts, so that other requests are served while a row with millions of values is converted, which takes seconds.
 * @param source rows as `PageRows.pieces` yields them @throws ProtocolBreach
 */
export function* partsOfRows(
  source: Buffer,
  type: RowType,
  format: RowsFormat,
  partBytes = PART_BYTES,
): Generator<string, void, undefined> {
  const scanner = new JsonScanner(source);
  for (let hasMore = true; hasMore; hasMore = scanner.skipIf(',')) {
    const start = scanner.skipValue();
    const row = source.subarray(start, scanner.position);
    if (!new JsonScanner(row).isNext('[')) throw breachFor('no-list');
    if (format === 'json') yield ',';
    yield* format === 'csv' ? csvParts(row, type, partBytes) : jsonParts(row, type, partBytes);
    if (format !== 'json') yield format === 'csv' ? '\r\n' : '\n';
  }
  scanner.expectEnd();
}

function* jsonParts(json: Buffer, type: EngineType, partBytes: number): Generator<string, void, undefined> {
  if (!isInParts(json, type, partBytes)) return yield JSON.stringify(valueOf(json, type));
  const [open, close] = type.kind === 'map' ? (['{', '}'] as const) : (['[', ']'] as const);
  let separator = '';
  /** Where small members that are converted together begin and end; null: there are none. */
  let group = null as Pick<Member, 'start' | 'end'> | null;
  const textOf = ({ start, end }: Pick<Member, 'start' | 'end'>): string => {
    const list = Buffer.concat([Buffer.from(open), json.subarray(start, end), Buffer.from(close)]);
    return separator + JSON.stringify(valueOf(list, type)).slice(1, -1);
  };
  yield open;
  for (const { start, keyEnd, valueStart, end, valueType } of membersOf(json, type, open, close)) {
    const isAlone = type.kind === 'row' || end - valueStart > partBytes;
    if (group !== null && (isAlone || end - group.start > partBytes)) {
      yield textOf(group);
      [group, separator] = [null, ','];
    }
    if (!isAlone) group = { start: group?.start ?? start, end };
    else {
      const [key] = keyEnd === null ? [] : parseWithoutRounding(json.subarray(start, keyEnd));
      yield separator + (key === undefined ? '' : `${JSON.stringify(key)}:`);
      yield* jsonParts(json.subarray(valueStart, end), valueType, partBytes);
      separator = ',';
    }
  }
  yield (group === null ? '' : textOf(group)) + close;
}

function* csvParts(row: Buffer, type: RowType, partBytes: number): Generator<string, void, undefined> {
  let separator = '';
  for (const { start, end, valueType } of membersOf(row, type, '[', ']')) {
    const cell = row.subarray(start, end);
    yield separator;
    separator = ',';
    if (!isInParts(cell, valueType, partBytes)) yield csvField(valueOf(cell, valueType));
    else {
      yield '"'; // JSON of this length has commas
      for (const part of jsonParts(cell, valueType, partBytes)) yield part.replaceAll('"', '""');
      yield '"';
    }
  }
}

interface Member {
  /** Start of the key in a map, else of the value. */
  start: number;
  /** Null: the member has no key. */
  keyEnd: number | null;
  valueStart: number;
  end: number;
  valueType: EngineType;
}

function* membersOf(json: Buffer, type: ContainerType, open: '[' | '{', close: ']' | '}'): Generator<Member> {
  const scanner = new JsonScanner(json);
  let count = 0;
  scanner.expect(open);
  const isEmpty = scanner.skipIf(close);
  for (let hasMore = !isEmpty; hasMore; hasMore = scanner.skipIf(','), count += 1) {
    const keyStart = type.kind === 'map' ? scanner.skipValue() : null;
    const keyEnd = keyStart === null ? null : scanner.position;
    if (keyEnd !== null) scanner.expect(':');
    if (keyStart !== null && json[keyStart] !== QUOTE) throw breachFor('no-json');
    const valueStart = scanner.skipValue();
    const valueType =
      type.kind === 'array' ? type.element : type.kind === 'map' ? type.value : type.fields[count]?.type;
    if (valueType === undefined) throw breachFor('other-count');
    yield { start: keyStart ?? valueStart, keyEnd, valueStart, end: scanner.position, valueType };
  }
  if (type.kind === 'row' && count !== type.fields.length) throw breachFor('other-count');
  if (!isEmpty) scanner.expect(close);
}

function isInParts(json: Buffer, type: EngineType, partBytes: number): type is ContainerType {
  return json.length > partBytes && (type.kind === 'array' || type.kind === 'map' || type.kind === 'row');
}

function valueOf(json: Buffer, type: EngineType): ApiValue {
  return apiConverter(type)(parseWithoutRounding(json)[0]);
}
