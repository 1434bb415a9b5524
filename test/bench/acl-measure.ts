import { gzipSync } from 'node:zlib';
import { compile } from '../../src/acl-sync/domain/compile.js';
import { rulesText } from '../../src/acl-sync/domain/rules-text.js';
import { SIZES, scaled, skewedWorld } from '../support/skewed-world.js';
import { floor } from './floor.js';
import { namesInFull, personByPerson } from './peers.js';

/** One measurement, in a process of its own so that its peak memory is its own. Prints a line of JSON. */
const [size = 'team', factor = '1', names = 'numbered', way = 'ours'] = process.argv.slice(2);
if (size !== 'team' && size !== 'enterprise' && size !== 'extreme') throw new Error(`no such world: ${size}`);
const snapshot = skewedWorld(scaled(SIZES[size], Number(factor)), names === 'numbered' ? 'numbered' : 'real-like');
const world = process.resourceUsage().maxRSS;
const start = performance.now();
const measured = measure();
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ size, factor, names, way, ...measured, peakMiB, worldMiB: Math.round(world / 1024) }));

function measure(): object {
  switch (way) {
    case 'ours': {
      const { text, document } = compile(snapshot);
      const ms = Math.round(performance.now() - start);
      return { rules: document.tables.length, bytes: Buffer.byteLength(text), ms, gzip: gzipSync(text).length };
    }
    case 'names in full': {
      const document = namesInFull(snapshot);
      const text = rulesText(document);
      return {
        rules: document.tables.length,
        bytes: Buffer.byteLength(text),
        ms: Math.round(performance.now() - start),
      };
    }
    case 'person by person': {
      let rules = 0;
      let bytes = 0;
      for (const rule of personByPerson(snapshot)) {
        rules++;
        bytes += Buffer.byteLength(JSON.stringify(rule)) + 2;
      }
      return { rules, bytes, ms: Math.round(performance.now() - start) };
    }
    case 'floor':
      return { ...floor(snapshot), ms: Math.round(performance.now() - start) };
    default:
      throw new Error(`no such way: ${way}`);
  }
}
