/** Set by `.ci/run` without `--all`: of what is only more of the same a share is tested, drawn by what is committed. */
export const isLanding = process.env['GRANTLINE_LANDING'] !== undefined;
const SHARE = isLanding ? 5 : 1;

/** One of five at a landing, others for another tree. */
export function shareOf<T>(all: readonly T[]): T[] {
  const seed = Number(process.env['GRANTLINE_PROPERTY_SEED'] ?? 0);
  return all.filter((_, at) => (at + seed) % SHARE === 0);
}

/** How many random examples are drawn. */
export function runs(all: number): number {
  return Math.ceil(all / SHARE);
}
