import type { Subjects } from '../../grants/domain/subject.js';
import { audience } from './audience.js';
import { anyOf, typicalLength } from './name-pattern.js';
import { rectangles, type Sibling } from './rectangles.js';

/** What rules about siblings have in common: whom they are for, and where the siblings lie. */
export interface SiblingRule {
  user?: string;
  catalog?: string;
  schema?: string;
  table?: string;
}

export type Level = 'catalog' | 'schema' | 'table';

/** Writes the rules of a section for some siblings: few of them, in the order in which the engine must find them. */
export class SiblingRules {
  private readonly person: number;

  constructor(private readonly subjects: Subjects) {
    this.person = typicalLength(subjects.list.map(({ name }) => name));
  }

  /** @param where the patterns of the levels above. */
  of<O extends object>(siblings: readonly Sibling<O>[], level: Level, where: SiblingRule): (SiblingRule & O)[] {
    const cost = {
      person: this.person,
      sibling: typicalLength(siblings.map(({ name }) => name)),
      rule: (outcome: O) => JSON.stringify({ user: '', ...where, [level]: '', ...outcome }).length + SEPARATOR,
    };
    return rectangles(siblings, cost).map(({ outcome, people, names }) => ({
      ...(people && { user: audience(people, this.subjects.list) }),
      ...where,
      [level]: anyOf(names),
      ...outcome,
    }));
  }
}

/** A comma and the end of the line. */
const SEPARATOR = 2;
