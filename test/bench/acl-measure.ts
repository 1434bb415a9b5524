import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { compile } from '../../src/acl-sync/compiler/compile.js';
import { rulesText } from '../../src/acl-sync/compiler/rules-text.js';
import type { Snapshot } from '../../src/grants/domain/snapshot.js';
import { snapshotOf, type Way, type World } from './acl-world.js';
import { floor } from './floor.js';
import { cpuMs, judge } from './judging.js';
import { MANY_RULES, namesInFull, personByPerson, sizeOf } from './peers.js';
import { everydayQuestions, proofQuestions, type Questions } from './questions.js';

/**
 * One measurement, in a process of its own so that its peak memory is its own: `acl-measure.ts WORLD WAY FOLDER`, the world
 * as JSON. Leaves the document in the folder, and beside ours the questions for the engine; prints a line of JSON.
 */
const [world = '', way = '', folder = '.'] = process.argv.slice(2);
const figures = measured(snapshotOf(JSON.parse(world) as World), way as Way);
console.log(JSON.stringify({ ...figures, peakMiB: Math.round(process.resourceUsage().maxRSS / 1024) }));

function measured(snapshot: Snapshot, way: Way): object {
  if (way === 'floor') return floor(snapshot);
  const size = way === 'person by person' ? sizeOf(snapshot) : null;
  // No computer of ours holds it: its size is counted, and nothing else.
  if (size !== null && size.rules > MANY_RULES) return size;
  const began = cpuMs();
  const text = documentText(snapshot, way);
  const compileMs = cpuMs() - began;
  const { rules, engine, ...stages } = judge(text, snapshot);
  const totalMs = cpuMs() - began;
  writeFileSync(join(folder, `${way}.json`), text);
  const bytes = Buffer.byteLength(text);
  const all = { rules: rules.tables.length, bytes, compileMs, ...stages, totalMs };
  if (way !== 'ours') return all;
  const questions: Questions = { everyday: everydayQuestions(snapshot), ...proofQuestions(engine, snapshot) };
  writeFileSync(join(folder, 'questions.json'), JSON.stringify(questions));
  return { ...all, gzip: gzipSync(text).length, people: engine.people.count };
}

function documentText(snapshot: Snapshot, way: Exclude<Way, 'floor'>): string {
  switch (way) {
    case 'ours':
      return compile(snapshot).text;
    case 'names in full':
      return rulesText(namesInFull(snapshot));
    case 'person by person':
      return rulesText(personByPerson(snapshot));
  }
}
