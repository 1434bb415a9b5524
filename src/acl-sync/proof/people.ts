import { FRESH, readMeaning, type Meaning } from '../rules/name-space.js';
import { matches } from '../rules/pattern-meaning.js';
import { peopleSet, type PeopleSet } from './people-set.js';
import type { RulesDocument } from '../rules/rules-document.js';

/**
 * Everybody who is asked about, numbered: those whom the snapshot knows, one stranger, and every other name that a pattern
 * of users lets in. Patterns become sets of numbers at once; their names, of which there may be millions, are not kept.
 */
export class People {
  /** Names that the snapshot does not know, in the order of their numbers, which follow those of the known. */
  readonly strangers: string[] = [];
  private readonly positions = new Map<string, number[]>();
  private readonly sets = new Map<string, PeopleSet>();
  private readonly open = new Map<string, Meaning & { kind: 'open' }>();
  private everybodyOnce: PeopleSet | null = null;
  private readonly all: string[] = [];

  /** @param known names by their numbers; a name may stand there twice. */
  constructor(known: readonly string[], ...documents: RulesDocument[]) {
    for (const name of known) this.enter(name);
    this.meet(FRESH);
    for (const rules of documents) this.meetAll(rules);
  }

  get count(): number {
    return this.all.length;
  }

  /** By their numbers. */
  names(): readonly string[] {
    return this.all;
  }

  everybody(): PeopleSet {
    return (this.everybodyOnce ??= peopleSet(Array.from({ length: this.all.length }, (_, position) => position)));
  }

  /** Those whom a pattern of users in the rules means. */
  meantBy(pattern: string | undefined): PeopleSet {
    if (pattern === undefined || pattern === '.*') return this.everybody();
    const known = this.sets.get(pattern) ?? peopleSet(this.letIn(pattern));
    this.sets.set(pattern, known);
    return known;
  }

  /** Those of this very name: two where the snapshot gives a name twice. */
  named(name: string): readonly number[] {
    return this.positions.get(name) ?? [];
  }

  private meetAll(rules: RulesDocument): void {
    for (const { user } of rulesAboutUsers(rules)) this.learn(user);
    for (const { original_user, new_user } of rules.impersonation) {
      this.learn(original_user);
      this.learn(new_user);
    }
  }

  private learn(pattern: string | undefined): void {
    if (pattern === undefined || this.sets.has(pattern) || this.open.has(pattern)) return;
    const meaning = readMeaning(pattern);
    if (meaning.kind === 'names') {
      const positions: number[] = [];
      for (const name of meaning.names) positions.push(...this.meet(name));
      this.sets.set(pattern, peopleSet(positions));
    } else if (meaning.kind === 'open') {
      this.open.set(pattern, meaning);
      this.meet(meaning.witness);
    }
  }

  private *letIn(pattern: string): Iterable<number> {
    const meaning = this.open.get(pattern);
    if (meaning === undefined) return;
    for (const [name, positions] of this.positions) if (matches(meaning.pattern, name)) yield* positions;
  }

  private meet(name: string): readonly number[] {
    const known = this.positions.get(name);
    if (known) return known;
    this.strangers.push(name);
    return this.enter(name);
  }

  private enter(name: string): readonly number[] {
    const position = this.all.push(name) - 1;
    const same = this.positions.get(name);
    const positions = same ? [...same, position] : [position];
    this.positions.set(name, positions);
    return positions;
  }
}

function rulesAboutUsers(rules: RulesDocument): readonly { user?: string }[] {
  const { catalogs, schemas, tables, queries, functions, procedures } = rules;
  const { system_session_properties, catalog_session_properties } = rules;
  return [
    catalogs,
    schemas,
    tables,
    queries,
    functions,
    procedures,
    system_session_properties,
    catalog_session_properties,
  ].flat();
}
