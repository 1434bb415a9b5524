// What of the landing lane a change needs, besides `npm run check` and `npm test`, which always run: lanes.mjs [--all] prints the steps
// of `.ci/run` after them.
import { execFileSync } from 'node:child_process';

/** What a running service is made of. */
const SERVICE = /^(src\/(?!.*\.spec\.ts$)|migrations\/)/;
const FIXTURES = /^test\/support\//;
/** Of all parts, and what starts them. */
const PARTS = /^test\/stack\/(parts\/|running\/|[^/]+(?<!-spec\.ts)$)/;
/** What only `npm run check` and `npm test` read. */
const CHECKED_ANYWAY = [
  /^(docs\/|src\/.*\.spec\.ts$|test\/bench\/|[A-Z]+(\.md)?$|oxlint\.config\.js$)/,
  /^\.(ci\/(advisories|restricted-syntax)\.mjs|dependency-cruiser\.cjs|editorconfig|env\.example|gitattributes|gitignore|oxfmtrc\.jsonc)$/,
];

/**
 * The files that the result of a lane follows from. `specs`: of the real parts; those that no lane names are `real-parts`.
 * @type {Record<string, { specs?: string, inputs: RegExp[] }>}
 */
export const LANES = {
  console: { inputs: [SERVICE, FIXTURES, /^test\/console\//] },
  'image-node': { inputs: [SERVICE, FIXTURES, PARTS, /^test\/(?!bench|console|stack)/] },
  'real-parts': {
    inputs: [
      SERVICE,
      FIXTURES,
      /^(docs\/examples|helm|image|test\/stack)\//,
      /^docs\/(import|install|migrate|opa)\.md$/,
    ],
  },
  // Renderings and applied objects; the others in that folder run the service.
  chart: {
    specs: 'stack/chart/(?!install-guide|pods|private-ca|rights)',
    inputs: [PARTS, /^(helm|test\/stack\/chart)\//, /^docs\/gitops\.md$/],
  },
  'access-control': {
    specs:
      'stack/(acl-diff|acl-import|acting-as-others|doors|engine-oracle|filter-identity|java-patterns|kept-files|killing-queries|opa|ownership|routines|rules-check|system-tables)\\.',
    inputs: [
      PARTS,
      /^src\/(commands|kernel|rules-files|trino-rules|(acl-sync|grants)\/domain)\/(?!.*\.spec\.ts$)/,
      /^test\/(acl-check|stack\/(doors|engine-oracle|opa)|support\/(opa|rules|snapshots))/,
      /^test\/stack\/[^/]+\.stack-spec\.ts$/,
    ],
  },
  api: {
    specs: 'stack/(clients|fuzz|scim-tester)\\.',
    inputs: [
      PARTS,
      /^src\/.*\.(controller|decorator|dto|guard|pipe|response)\.ts$/,
      /^src\/(platform|identity\/scim)\/(?!.*\.spec\.ts$)/,
      /^test\/stack\/(clients|fuzz|scim)/,
    ],
  },
  release: {
    specs: 'stack/release\\.',
    inputs: [
      PARTS,
      /^(\.ci\/(release|library)|Dockerfile$|image\/|docs\/releases\.md$|src\/.*package\.json$)/,
      /^test\/stack\/release/,
    ],
  },
  interruption: { specs: 'stack/interruption\\.', inputs: [PARTS, /^test\/stack\/interruption/] },
};

/**
 * @param {string[] | null} changedFiles paths in the repository; null: unknown
 * @returns {string[]} names of `LANES`: every one for a file that nothing here knows
 */
export function lanesOf(changedFiles) {
  const all = Object.keys(LANES);
  const needed = (changedFiles ?? ['unknown']).map((file) => {
    const lanes = all.filter((lane) => LANES[lane]?.inputs.some((input) => input.test(file)));
    return lanes.length > 0 || CHECKED_ANYWAY.some((pattern) => pattern.test(file)) ? lanes : all;
  });
  return all.filter((lane) => needed.some((lanes) => lanes.includes(lane)));
}

/**
 * @param {string[]} lanes
 * @returns {string[][]} the ends of npm scripts' names, each with its arguments
 */
export function stepsOf(lanes) {
  /** @type {string[][]} */
  const [own = [], leftOut = []] = [[], []];
  for (const [lane, { specs }] of Object.entries(LANES))
    if (specs !== undefined) (lanes.includes(lane) ? own : leftOut).push(specs);
  const steps = ['console', 'image-node'].filter((lane) => lanes.includes(lane)).map((lane) => [lane]);
  if (lanes.includes('real-parts'))
    steps.push(['stack', ...(leftOut.length > 0 ? ['--testPathIgnorePatterns', leftOut.join('|')] : [])]);
  else if (own.length > 0) steps.push(['stack', own.join('|')]);
  return steps;
}

/**
 * Since the clone's `origin/main`. Without one, or where it is what is run, nothing is known.
 * @returns {string[] | null}
 */
function changedFiles() {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const base = git('merge-base', 'origin/main', 'HEAD');
    return base === git('rev-parse', 'HEAD')
      ? null
      : git('diff', '--name-only', '--no-renames', base, 'HEAD').split('\n');
  } catch {
    return null;
  }
}

if (process.argv[1] === import.meta.filename) {
  const lanes = lanesOf(process.argv.includes('--all') ? null : changedFiles());
  for (const step of stepsOf(lanes)) console.log(step.join(' '));
}
