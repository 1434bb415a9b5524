import { decide, type Decision } from '../../grants/domain/intent.js';
import type { Privilege } from '../../grants/domain/privilege.js';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Subject } from '../../grants/domain/subject.js';
import type { Aspect, Difference, Place } from './difference.js';
import { Evaluator } from './evaluator.js';
import type { Finding } from './finding.js';
import { FRESH } from './name-space.js';
import { ruleText } from './rule-text.js';
import type { RulesDocument } from './rules-document.js';

const SEE = 'proof-difference';

/** Puts differences into words: who, where, what, by which grant, and which rule says otherwise. */
export class Counterexamples {
  private readonly evaluator: Evaluator;

  constructor(
    private readonly rules: RulesDocument,
    private readonly snapshot: Snapshot,
  ) {
    this.evaluator = new Evaluator(rules);
  }

  finding(difference: Difference): Finding {
    const { aspect, somebody, others, byRules } = difference;
    const who = nameOf(somebody);
    const more = others > 0 ? ` (and ${others} more)` : '';
    const rule = this.decidingRule(aspect, somebody);
    const [section, index] = rule ?? [];
    const at = section === undefined || index === undefined ? undefined : `${section}[${index}]`;
    const said = at === undefined ? 'no rule decides that' : `rule ${at}`;
    const verdict = byRules
      ? `${who}${more} may not ${deed(aspect)}${this.because(aspect, somebody, false)}, but ${at === undefined ? 'the engine lets everybody who is not denied' : `${said} gives it`}`
      : `${who}${more} may ${deed(aspect)}${this.because(aspect, somebody, true)}, but ${at === undefined ? said : `${said} ${this.lets(aspect, somebody, rule)}`}`;
    const evidence = section === undefined || index === undefined ? undefined : this.rules[section][index];
    return {
      code: SEE,
      severity: 'error',
      message: isRestriction(aspect)
        ? restriction(difference, who + more, this.because(aspect, somebody, !byRules), said)
        : verdict,
      ...(at !== undefined && { rule: at }),
      ...(evidence && { witness: ruleText(evidence) }),
    };
  }

  /** The section and the place of the rule that decides in the engine. */
  private decidingRule(aspect: Aspect, { name }: Subject): [keyof RulesDocument, number] | null {
    const { evaluator } = this;
    const found = (section: keyof RulesDocument, index: number | null): [keyof RulesDocument, number] | null =>
      index === null ? null : [section, index];
    switch (aspect.about) {
      case 'catalog-mode':
        return found('catalogs', evaluator.catalogRule(name, aspect.place.catalog));
      case 'schema-ownership':
        return evaluator.mayWrite(name, aspect.place.catalog)
          ? found('schemas', evaluator.schemaRule(name, whole(aspect.place)))
          : found('catalogs', evaluator.catalogRule(name, aspect.place.catalog));
      case 'privilege':
        return this.isGated(aspect, name)
          ? found('catalogs', evaluator.catalogRule(name, aspect.place.catalog))
          : found('tables', evaluator.tableRule(name, whole(aspect.place)));
      case 'row-filter':
      case 'hidden-column':
      case 'column-mask':
        return found('tables', evaluator.tableRule(name, whole(aspect.place)));
      case 'queries':
        return found('queries', evaluator.queryRule(name));
      case 'impersonation':
        return found('impersonation', evaluator.impersonationRule(name, aspect.newUser));
      case 'routine':
        return aspect.kind === 'function'
          ? found('functions', evaluator.functionRule(name, { ...whole(aspect.place), function: aspect.name }))
          : found('procedures', evaluator.procedureRule(name, { ...whole(aspect.place), procedure: aspect.name }));
      case 'session-property':
        return aspect.catalog === null
          ? found('system_session_properties', evaluator.systemPropertyRule(name, aspect.property))
          : found('catalog_session_properties', evaluator.catalogPropertyRule(name, aspect.catalog, aspect.property));
    }
  }

  private isGated({ place, privilege }: Aspect & { about: 'privilege' }, name: string): boolean {
    return privilege === 'SELECT'
      ? !this.evaluator.mayRead(name, place.catalog)
      : !this.evaluator.mayWrite(name, place.catalog);
  }

  /** What the deciding rule lets somebody do instead. */
  private lets(aspect: Aspect, { name }: Subject, rule: [keyof RulesDocument, number] | null): string {
    if (aspect.about !== 'privilege' || rule?.[0] !== 'tables') {
      return rule?.[0] === 'catalogs' ? `lets ${name} only that far into the catalog` : 'does not give it';
    }
    const { privileges } = this.rules.tables[rule[1]] ?? { privileges: [] };
    return privileges.length > 0 ? `lets ${name} only ${privileges.join(', ')}` : `gives ${name} nothing`;
  }

  /** The grants, denies and settings behind what is meant. */
  private because(aspect: Aspect, somebody: Subject, isGiven: boolean): string {
    if (somebody.kind === 'stranger') return ' (no grant means anybody of that name)';
    if (somebody.kind === 'person' && !somebody.isActive) return ' (the account is deactivated)';
    const asked = question(aspect);
    if (asked === null) return '';
    const principal =
      somebody.kind === 'person'
        ? ({ type: 'user', id: somebody.userId } as const)
        : ({ type: 'engine', name: somebody.name } as const);
    return reasons(decide(this.snapshot, principal, known(asked.place), asked.privilege), aspect, isGiven);
  }
}

function question(aspect: Aspect): { place: Place; privilege: Privilege } | null {
  switch (aspect.about) {
    case 'privilege':
      return aspect;
    case 'schema-ownership':
      return { place: aspect.place, privilege: 'OWNERSHIP' };
    case 'row-filter':
    case 'hidden-column':
    case 'column-mask':
      return { place: aspect.place, privilege: 'SELECT' };
    case 'catalog-mode':
    case 'queries':
    case 'impersonation':
    case 'routine':
    case 'session-property':
      return null;
  }
}

function reasons({ grants, denies, intent }: Decision, aspect: Aspect, isGiven: boolean): string {
  if (aspect.about === 'row-filter' || aspect.about === 'hidden-column' || aspect.about === 'column-mask') {
    const kind = { 'row-filter': 'row_filter', 'hidden-column': 'hidden_column', 'column-mask': 'column_mask' }[
      aspect.about
    ];
    const ids = intent.policies.flatMap(({ source }) => (source.kind === kind ? [source.id] : []));
    return ids.length > 0 ? ` by ${ids.length > 1 ? 'policies' : 'policy'} ${ids.join(', ')}` : '';
  }
  if (isGiven && intent.standing === 'service-account') return ' as a service account';
  if (isGiven && intent.standing === 'reaches-something') return ' like everybody who reaches something';
  const [deny] = denies;
  if (deny && !isGiven) return ` (deny ${deny.source.id} takes it)`;
  const [grant, ...more] = grants;
  if (grant === undefined) return ' (no grant gives it)';
  const through = typeof grant.through === 'object' ? ` (group ${grant.through.group.name})` : '';
  return ` by grant ${grant.source.id}${through}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

function isRestriction(aspect: Aspect): boolean {
  return aspect.about === 'row-filter' || aspect.about === 'hidden-column' || aspect.about === 'column-mask';
}

function restriction({ aspect, byRules }: Difference, who: string, because: string, rule: string): string {
  const what = deed(aspect);
  return byRules
    ? `${rule} ${what} for ${who}, which no policy asks for`
    : `${who} may SELECT only as a policy says that ${what}${because}, but ${rule} does not do so`;
}

const DEEDS: Record<Privilege, string> = {
  SELECT: 'SELECT from',
  INSERT: 'INSERT into',
  DELETE: 'DELETE from',
  UPDATE: 'UPDATE',
  OWNERSHIP: 'have OWNERSHIP of',
  GRANT_SELECT: 'have GRANT_SELECT on',
};

function deed(aspect: Aspect): string {
  switch (aspect.about) {
    case 'privilege':
      return `${DEEDS[aspect.privilege]} ${pathOf(aspect.place)}`;
    case 'schema-ownership':
      return `own (OWNERSHIP) the schema ${pathOf(aspect.place)}`;
    case 'catalog-mode':
      return `enter the catalog ${pathOf(aspect.place)} in the mode ${aspect.mode}`;
    case 'row-filter':
      return `filters the rows of ${pathOf(aspect.place)} by ${aspect.expression}`;
    case 'hidden-column':
      return `hides the column ${aspect.column} of ${pathOf(aspect.place)}`;
    case 'column-mask':
      return `masks the column ${aspect.column} of ${pathOf(aspect.place)} by ${aspect.expression}`;
    case 'queries':
      return aspect.right === 'execute' ? 'execute queries' : `${aspect.right} other people's queries`;
    case 'impersonation':
      return `impersonate ${shown(aspect.newUser, 'a stranger')}`;
    case 'routine':
      return `${aspect.privilege} the ${aspect.kind} ${pathOf(aspect.place)}.${shown(aspect.name, `(any other ${aspect.kind})`)}`;
    case 'session-property': {
      const property = shown(aspect.property, '(any other)');
      return `SET SESSION ${aspect.catalog === null ? '' : `${shown(aspect.catalog, '(any other catalog)')}.`}${property}`;
    }
  }
}

function nameOf(subject: Subject): string {
  return shown(subject.name, 'a stranger');
}

function pathOf({ catalog, schema, table }: Place): string {
  const levels = [
    shown(catalog, '(any other catalog)'),
    schema === undefined ? undefined : shown(schema, '(any other schema)'),
    table === undefined ? undefined : shown(table, '(any other table)'),
  ];
  return levels.filter((level) => level !== undefined).join('.');
}

function shown(name: string, instead: string): string {
  return name.includes(FRESH) ? instead : name;
}

function whole({ catalog, schema = FRESH, table = FRESH }: Place): Required<Place> {
  return { catalog, schema, table };
}

function known({ catalog, schema, table }: Place): Place {
  return { catalog, ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) };
}
