import { firstStep } from '../../src/trino-rules/transition/first-step.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { isLanding } from '../support/landing.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const kubectl = kubectlOf(stack);

const TABLE = 'tpch.tiny.nation';
const REAL = 'ALGERIA';
const READING = `SELECT name FROM ${TABLE} WHERE nationkey = 0`;
const PUBLICATIONS = isLanding ? 6 : 20;
/** Publications at once until a statement shows the value: one of some twenty did. */
const MOST_PLANTED = 300;
const LOOPS = 6;

const ask = (user: string, sql: string) =>
  runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', user }, sql);

describe('statements without a pause, while a grant and its mask are published', () => {
  const story = () => aSnapshot().user('alice').may('SELECT', 'tpch.tiny.region');
  const closed = compile(story().snapshot()).text;
  const masked = story().may('SELECT', TABLE).seesMasked(TABLE, 'name', "CAST('hidden' AS varchar(25))");
  const open = compile(masked.snapshot()).text;
  const stepAfter = (text: string): string =>
    firstStep({ nextText: open, publishedText: text, usedTexts: [text] })?.text ?? '';
  const first = stepAfter(closed);
  const second = stepAfter(first);

  afterAll(() => emptyRules(kubectl));

  async function publish(text: string): Promise<void> {
    await editRules(kubectl, text);
    await untilRulesInForce(text, (sql) => ask('service-account-grantline', sql));
  }

  /** Publishes from no access to access, again and again, while alice asks. @returns what her statements came to */
  async function asked(steps: readonly string[], isEnough: (publications: number, bare: number) => boolean) {
    const seen = { publications: 0, statements: 0, refused: 0, masked: 0, bare: 0 };
    const over = new AbortController();
    const loop = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const answer = await ask('alice', READING);
        seen.statements += 1;
        if (answer.kind !== 'rows') seen.refused += 1;
        else if (JSON.stringify(answer.rows).includes(REAL)) seen.bare += 1;
        else seen.masked += 1;
      }
    };
    await publish(closed);
    const loops = Promise.all(Array.from({ length: LOOPS }, loop));
    while (!isEnough(seen.publications, seen.bare)) {
      for (const text of steps) await publish(text);
      seen.publications += 1;
      await publish(closed);
    }
    over.abort();
    await loops;
    return seen;
  }

  it(
    `shows the value to no statement in ${PUBLICATIONS} publications in steps`,
    async () => {
      const seen = await asked([first, second, open], (publications) => publications >= PUBLICATIONS);
      console.log(`masks first: ${JSON.stringify(seen)}`);
      expect(seen).toMatchObject({ publications: PUBLICATIONS, bare: 0 });
      expect(Math.min(seen.refused, seen.masked)).toBeGreaterThan(PUBLICATIONS);
    },
    40_000 * PUBLICATIONS,
  );

  if (!isLanding)
    it(
      'shows it where both are published at once, so that the specs above mean something',
      async () => {
        const seen = await asked([open], (publications, bare) => bare > 0 || publications >= MOST_PLANTED);
        console.log(`both at once: ${JSON.stringify(seen)}`);
        expect(seen.bare).toBeGreaterThan(0);
      },
      20_000 * MOST_PLANTED,
    );
});
