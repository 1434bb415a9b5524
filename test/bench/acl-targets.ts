import type { WorkloadFigures } from './acl-report.js';
import { workloadName, type Workload } from './workload.js';
import type { Measured, Warm } from './measuring.js';
import { textTable } from './text-table.js';

const KIB_AT_MOST: readonly (readonly [string, number])[] = [
  ['enterprise × 0.3, numbered', 170],
  ['enterprise × 0.3, real-like', 430],
  ['enterprise, numbered', 880],
];
const FEWER_BYTES = 3;
const FASTER_DECISIONS = 4;
const QUESTIONS_FASTER = 1_000;
const PEAK_MIB = 1_024;
const GROWS_AT_MOST = 1.3;

/** Each target with its figure, workload by workload. */
export function targets(
  workloads: readonly WorkloadFigures[],
  growth: readonly (readonly [Workload, Measured])[],
): string {
  const lines = [...workloads.flatMap(targetsOf), ...ofGrowth(growth)];
  return textTable([['workload', 'target', 'is', ''], ...lines]);
}

function targetsOf({ workload, variants, proof }: WorkloadFigures): string[][] {
  const name = workloadName(workload);
  const ours = variants.ours;
  const full = variants['names in full'];
  if (!ours || !full) return [];
  const { bytes, peakMiB, warm } = ours.measured;
  const first = { compileMs: ours.measured.compileMs ?? 0, proveMs: ours.measured.proveMs ?? 0 };
  const usual = warm ?? first;
  const sizes = KIB_AT_MOST.filter(([of]) => of === name).map(([, most]) =>
    line(`at most ${most} KiB`, (bytes / 1024).toFixed(0), bytes <= most * 1024),
  );
  const fewer = full.measured.bytes / bytes;
  const lines = [
    ...sizes,
    line(`${FEWER_BYTES} × fewer bytes than names in full`, fewer.toFixed(2), fewer >= FEWER_BYTES),
    noLonger('proof no longer than compilation', usual),
    ...(warm ? [noLonger('the same, the first time in a process', first)] : []),
  ];
  if (typeof ours.engine === 'object' && ours.engine !== null) {
    if (typeof full.engine === 'object' && full.engine !== null) {
      const faster = ours.engine.decisionsPerSecond / full.engine.decisionsPerSecond;
      const target = `engine ${FASTER_DECISIONS} × faster than with names in full`;
      lines.push(line(target, faster.toFixed(2), faster >= FASTER_DECISIONS));
    }
    if (proof.perSecond !== null) {
      // The engine's classes are warm as well.
      const shorter = ((proof.questions / proof.perSecond) * 1_000) / usual.proveMs;
      const target = `proof ${thousands(QUESTIONS_FASTER)} × faster than the engine's classes`;
      const is = `${thousands(shorter)} (${thousands(proof.questions)} questions)`;
      lines.push(line(target, is, shorter >= QUESTIONS_FASTER));
    }
  }
  if (workload.size === 'extreme')
    lines.push(line(`compiled and proved in ${PEAK_MIB} MiB`, String(peakMiB), peakMiB < PEAK_MIB));
  return lines.map((cells, i) => [i === 0 ? name : '', ...cells]);
}

function noLonger(target: string, { compileMs, proveMs }: Warm): string[] {
  return line(target, (proveMs / compileMs).toFixed(2), proveMs <= compileMs);
}

/** The proof's time may grow only a little faster than rules × people. */
function ofGrowth(growth: readonly (readonly [Workload, Measured])[]): string[][] {
  return growth.flatMap(([workload, measured]): string[][] => {
    const [, base] = growth.find(([{ names }]) => names === workload.names) ?? [];
    if (base === undefined || base === measured) return [];
    const work = workOf(measured) / workOf(base);
    const time = (measured.proveMs ?? 0) / (base.proveMs ?? 1);
    const target = `proof grows at most ${GROWS_AT_MOST} × faster than rules × people, from 1 ×`;
    const is = `${(time / work).toFixed(2)} (${time.toFixed(1)} / ${work.toFixed(1)})`;
    return [[workloadName(workload), ...line(target, is, time <= GROWS_AT_MOST * work)]];
  });
}

function workOf({ rules = 0, people = 0 }: Measured): number {
  return rules * people;
}

function line(target: string, is: string, isMet: boolean): string[] {
  return [target, is, isMet ? 'met' : 'MISSED'];
}

function thousands(number: number): string {
  return Math.round(number).toLocaleString('en-GB');
}
