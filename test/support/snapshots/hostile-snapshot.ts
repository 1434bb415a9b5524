import fc from 'fast-check';
import { nameProblem, resourceNameProblem } from '../../../src/kernel/name.js';
import { effectiveSnapshot } from '../../../src/trino-rules/model/effective-snapshot.js';
import { readSnapshot, writeSnapshot } from '../../../src/trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { expressionProblem } from '../../../src/trino-rules/model/sql-expression.js';
import { anySnapshot } from './any-snapshot.js';

/** What patterns, replacement texts, SQL, JSON or JavaScript read in a way of their own, and letters that change with their case. */
const PIECES = [
  ...Array.from('.|()[]{}?*+^$\\-&#/"\'`,:;<>=!@%~ _'),
  ...['\\E', '\\Q', '\\u0041', '(?i)', '(?!', '[^', '&&', '$1', '${user}', '.*', '--', '/*', "''", '\u00a0', '\u3000'],
  ...Array.from('ßſİıKÅéσςǆǅﬁ日本אع😀😁𝒜'),
  ...['e\u0301', '👩🏽'],
  ...['constructor', '__proto__', 'toString', 'null', 'true', 'system', 'jdbc', 'information_schema', 'x'.repeat(60)],
  ...Array.from('0123456789abzABZ'),
];

const piece = fc.constantFrom(...PIECES);
const aName = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));

/** A name, and others that begin with it, end with it, count on from it or differ by case. */
const aFamily = fc
  .tuple(aName, piece, fc.nat(12))
  .map(([name, more, count]) => [
    ...[name, name + more, more + name, name.toUpperCase(), name.toLowerCase()],
    ...Array.from({ length: count }, (_, i) => `${name}${i}`),
  ]);

const names = (problem: (name: string) => string | null, spelled = (name: string) => name) =>
  fc
    .array(aFamily, { minLength: 2, maxLength: 5 })
    .map((families) => [...new Map(families.flat().map((name) => [spelled(name), name])).values()])
    .map((all) => all.filter((name) => problem(name) === null))
    .filter((all) => all.length >= 4);

const anExpression = fc.array(fc.oneof(piece, fc.constantFrom('a', 'OR', ' = ', "'x'", '(a)', ' AND ')), {
  minLength: 1,
  maxLength: 5,
});
const expressions = fc
  .array(
    anExpression.map((pieces) => pieces.join('')),
    { minLength: 12, maxLength: 20 },
  )
  .map((all) => [...new Set(['a', 'a OR b', ...all])].filter((text) => expressionProblem(text) === null));

/** Snapshots of the strangest names and expressions that can be written down. */
export function anyHostileSnapshot(): fc.Arbitrary<Snapshot> {
  const principals = names(nameProblem, (name) => name.toLowerCase());
  return fc
    .record({ principals, nodes: names(resourceNameProblem), columns: names(resourceNameProblem), expressions })
    .chain(({ principals, nodes, columns, expressions }) =>
      anySnapshot(undefined, {
        people: principals.slice(1, 13),
        engines: principals.slice(0, 1).concat(principals.slice(13)),
        nodes: nodes.slice(0, 20),
        columns: columns.slice(0, 5),
        expressions: [expressions],
      }),
    )
    .map(asWritten)
    .filter((snapshot) => snapshot !== null);
}

/** As it is once it was written down; null: it would be refused. */
function asWritten(snapshot: Snapshot): Snapshot | null {
  const reading = readSnapshot(writeSnapshot(effectiveSnapshot(snapshot)), snapshot);
  return reading.kind === 'read' ? reading.snapshot : null;
}
