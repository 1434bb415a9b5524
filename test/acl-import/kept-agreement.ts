import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { readUsers } from '../../src/commands/users-file.js';
import {
  newPatternCache,
  SingleUserAudiences,
  type Audiences,
  type ListedUser,
  ListedUsers,
} from '../../src/rules-files/foreign/audiences.js';
import { foreignDocument } from '../../src/rules-files/foreign/foreign-document.js';
import type { ListedName } from '../../src/rules-files/import/named-nodes.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { MetadataVisibility } from '../support/rules/metadata-visibility.js';
import { byEvaluator } from '../support/rules/by-evaluator.js';
import type { Answer, Question } from '../support/rules/engine-question.js';
import {
  canonical,
  type AskedQuestion,
  type AskEngine,
  questionsOf,
  type RuleWords,
  wordsOf,
} from './engine-agreement.js';
import type { KeptCase } from './published-cases.js';

export type KeptQuestion = Question & { groups: readonly string[] };

export interface KeptAgreement {
  asked: number;
  /** What the engine answers with yes, a filter or a mask. */
  given: number;
  /** Rules with patterns whose names cannot be told. */
  unjudged: string[];
  wrong: { question: AskedQuestion; engine: unknown; asked: unknown; listed: unknown }[];
}

/**
 * Asks the engine and our evaluator about every listed user on every named and unnamed node: the evaluator by the rules as `acl explain`
 * reads them for one user, and as `acl diff` and `acl import` read them for all.
 */
export async function keptAgreement({ users: list, rules: text }: KeptCase, ask: AskEngine): Promise<KeptAgreement> {
  const [users, file] = [readUsers(list), await readForeignRulesFile(Buffer.from(text))];
  if (file.kind === 'refused') throw new Error(JSON.stringify(file.problems));
  const names = users.map(({ name }) => name);
  const words = wordsFor(file.text, names, MAX_NAMES);
  const patterns = newPatternCache(new WorkBudget(Infinity));
  const reading = (audiences: Audiences) => {
    const { document, unjudgedPatterns: unjudged } = foreignDocument(
      file.rules,
      audiences,
      (expression) => expression.text,
    );
    const evaluator = new Evaluator(document, patterns);
    return { unjudged, evaluator, listings: new MetadataVisibility(evaluator) };
  };
  const everybody = reading(new ListedUsers(users, patterns));
  const result: KeptAgreement = {
    asked: 0,
    given: 0,
    unjudged: everybody.unjudged.map(({ rule, message }) => `${rule.place} ${message}`),
    wrong: [],
  };
  for (const user of users) {
    const own = reading(new SingleUserAudiences(user.name, user.groups, patterns));
    const questions = everyQuestion(user, words);
    const answers = await ask(file.text, questions);
    for (const [i, question] of questions.entries()) {
      const engine = answers[i] ?? null;
      const asked = byEvaluator(own.evaluator, own.listings, question);
      const listed = byEvaluator(everybody.evaluator, everybody.listings, question);
      result.asked += 1;
      if (isGiven(engine)) result.given += 1;
      if ([asked, listed].some((answer) => canonical(answer) !== canonical(engine)))
        result.wrong.push({ question, engine, asked, listed });
    }
  }
  return result;
}

const MAX_NAMES = 6;
/** The engine's own nodes, which few files name and all rule. */
const OWN = {
  schemas: ['runtime', 'jdbc', 'metadata', 'system'],
  tables: ['queries'],
  routines: ['query', 'kill_query'],
};

/** The names of a text, those of its users and of a listing, and the engine's own. */
export function wordsFor(
  text: string,
  users: readonly string[],
  most: number,
  listing: readonly ListedName[] = [],
): RuleWords {
  const words = wordsOf(text, most);
  const also = (names: readonly string[], more: readonly (string | undefined)[]): string[] => [
    ...new Set([...names, ...more.filter((name) => name !== undefined)]),
  ];
  const listed = (level: keyof ListedName) => listing.map((each) => each[level]);
  return {
    ...words,
    catalogs: also(words.catalogs, listed('catalog')),
    schemas: also(words.schemas, [...OWN.schemas, ...listed('schema')]),
    tables: also(words.tables, [...OWN.tables, ...listed('table')]),
    routines: also(words.routines, OWN.routines),
    users: also(words.users, users),
  };
}

/** Of a user, about everything that rules decide but owners and catalogs made by users. */
export function everyQuestion(user: ListedUser, words: RuleWords): KeptQuestion[] {
  return [...questionsOf(user, words), ...systemInformation(user)].filter(isAboutRules);
}

function systemInformation({ name: user, groups }: ListedUser): AskedQuestion[] {
  return [
    { ask: 'read-system', user, groups },
    { ask: 'write-system', user, groups },
  ];
}

function isAboutRules(question: AskedQuestion): question is KeptQuestion {
  return !['create-catalog', 'become-user', 'become-role'].includes(question.ask);
}

function isGiven(answer: Answer | { error: string }): boolean {
  return Array.isArray(answer) ? answer.length > 0 : answer !== null && answer !== false;
}

/** Session properties are a setting here. */
export function isSetting({ ask }: Question): boolean {
  return ask === 'system-property' || ask === 'catalog-property';
}

export function isRestriction<Asked extends Question>(
  question: Asked,
): question is Extract<Asked, { ask: 'mask' | 'filters' }> {
  return question.ask === 'mask' || question.ask === 'filters';
}
