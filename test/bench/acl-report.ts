import { workloadName, type Variant, type Workload } from './workload.js';
import type { EngineFigures } from './engine.js';
import type { Measured } from './measuring.js';
import { textTable } from './text-table.js';

export interface WorkloadFigures {
  workload: Workload;
  variants: Partial<Record<Variant, { measured: Measured; engine: EngineFigures | string | null }>>;
  lowerBound: Measured;
  /** Of the proof: how many it answers, and how many of them the engine's own classes answer in a second. */
  proof: { questions: number; perSecond: number | null };
}

const VARIANTS: readonly Variant[] = ['ours', 'names in full', 'person by person'];

/** Sizes and times of making and checking the rules. */
export function documentTable(workloads: readonly WorkloadFigures[]): string {
  const heading = [
    'workload',
    'rules made',
    'table rules',
    'KiB',
    'gzip',
    '× ours',
    'compile ms',
    'read ms',
    'prove ms',
  ];
  const lines = workloads.flatMap(({ workload, variants, lowerBound }) => {
    const ours = variants.ours?.measured.bytes ?? 0;
    const made = VARIANTS.flatMap((variant) => {
      const measured = variants[variant]?.measured;
      return measured ? [line(variant, measured)] : [];
    });
    return [...made, ['', 'no table rules below', '', kib(lowerBound.bytes), '', times(lowerBound.bytes / ours)]].map(
      (cells, i) => [i === 0 ? workloadName(workload) : '', ...cells.slice(1)],
    );

    function line(variant: Variant, figures: Measured): string[] {
      const { rules, bytes, gzip, compileMs, readMs, proveMs, deadMs, totalMs, peakMiB } = figures;
      const sizes = ['', variant, count(rules), kib(bytes), gzip === undefined ? '' : kib(gzip), times(bytes / ours)];
      if (totalMs === undefined) return [...sizes, 'too large to be made'];
      return [...sizes, ...[compileMs, readMs, proveMs, deadMs, totalMs].map(count), count(peakMiB)];
    }
  });
  return textTable([[...heading, 'dead-rule ms', 'total ms', 'peak MiB'], ...lines]);
}

/** What the engine's own access control makes of the same documents. */
export function engineTable(workloads: readonly WorkloadFigures[]): string {
  const heading = ['workload', 'in the engine', 'load ms', 'decisions per second', 'ours is faster'];
  const lines = workloads.flatMap(({ workload, variants }) => {
    const ours = variants.ours?.engine;
    return VARIANTS.map((variant, i) => {
      const engine = variants[variant]?.engine;
      const start = [i === 0 ? workloadName(workload) : '', variant];
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
