import { worldName, type Way, type World } from './acl-world.js';
import type { EngineFigures } from './engine.js';
import type { Measured } from './measuring.js';
import { textTable } from './text-table.js';

export interface WorldFigures {
  world: World;
  ways: Partial<Record<Way, { measured: Measured; engine: EngineFigures | string | null }>>;
  floor: Measured;
  /** Of the proof: how many it answers, and how many of them the engine's own classes answer in a second. */
  proof: { questions: number; perSecond: number | null };
}

const WAYS: readonly Way[] = ['ours', 'names in full', 'person by person'];

/** Sizes and times of making and checking the rules. */
export function documentTable(worlds: readonly WorldFigures[]): string {
  const heading = ['world', 'rules made', 'table rules', 'KiB', 'gzip', '× ours', 'compile ms', 'read ms', 'prove ms'];
  const lines = worlds.flatMap(({ world, ways, floor }) => {
    const ours = ways.ours?.measured.bytes ?? 0;
    const made = WAYS.flatMap((way) => {
      const measured = ways[way]?.measured;
      return measured ? [line(way, measured)] : [];
    });
    return [...made, ['', 'no table rules below', '', kib(floor.bytes), '', times(floor.bytes / ours)]].map(
      (cells, i) => [i === 0 ? worldName(world) : '', ...cells.slice(1)],
    );

    function line(way: Way, figures: Measured): string[] {
      const { rules, bytes, gzip, compileMs, readMs, proveMs, deadMs, totalMs, peakMiB } = figures;
      const sizes = ['', way, count(rules), kib(bytes), gzip === undefined ? '' : kib(gzip), times(bytes / ours)];
      if (totalMs === undefined) return [...sizes, 'too large to be made'];
      return [...sizes, ...[compileMs, readMs, proveMs, deadMs, totalMs].map(count), count(peakMiB)];
    }
  });
  return textTable([[...heading, 'dead-rule ms', 'total ms', 'peak MiB'], ...lines]);
}

/** What the engine's own access control makes of the same documents. */
export function engineTable(worlds: readonly WorldFigures[]): string {
  const heading = ['world', 'in the engine', 'load ms', 'decisions per second', 'ours is faster'];
  const lines = worlds.flatMap(({ world, ways }) => {
    const ours = ways.ours?.engine;
    return WAYS.map((way, i) => {
      const engine = ways[way]?.engine;
      const start = [i === 0 ? worldName(world) : '', way];
      if (engine === undefined || engine === null) return [...start, 'not asked'];
      if (typeof engine === 'string') return [...start, `does not load: ${engine}`];
      const { loadMs, decisionsPerSecond } = engine;
      const faster = typeof ours === 'object' && ours !== null ? ours.decisionsPerSecond / decisionsPerSecond : NaN;
      return [...start, count(loadMs), count(decisionsPerSecond), times(faster)];
    });
  });
  return textTable([heading, ...lines]);
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}

function kib(bytes: number): string {
  return count(bytes / 1024);
}

function count(number: number | undefined): string {
  return number === undefined ? '' : Math.round(number).toLocaleString('en-GB');
}
