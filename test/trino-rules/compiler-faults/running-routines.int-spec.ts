import { stopsEach } from './faulty-compilers.js';

const RULES = 'trino-rules/compile/right-rules.js';
const SETS = 'trino-rules/compile/intent-sets.js';
const TERMS = 'trino-rules/compile/engine-terms.js';

// Slips about functions and procedures.
stopsEach({
  'lets those run something to whom a restriction applies': {
    file: SETS,
    from: '[...entries, ...routineDenyEntries, ...settingEntries]',
    to: '[...entries, ...settingEntries]',
    found: /dee .*may not EXECUTE the function pg.* \(policy \d+ takes it\)/,
  },
  'forgets that a deny of data is a restriction': {
    file: SETS,
    from: 'return entry.privileges.some((privilege) => !ROUTINE_PRIVILEGES.includes(privilege));',
    to: 'return false;',
    found:
      /eve .*may not EXECUTE the function pg.* \(deny \d+ takes it\)|eve .*may not EXECUTE the function pg.* \(policy/,
  },
  'takes a deny of routines for a restriction of data': {
    file: SETS,
    from: 'return entry.privileges.some((privilege) => !ROUTINE_PRIVILEGES.includes(privilege));',
    to: 'return true;',
    found: /(?:ana|bo) .*may EXECUTE the function pg.* by grant 1/,
  },
  'restricts everybody else in the catalog, too': {
    file: SETS,
    from: '.and(members)',
    to: '',
    found: /may EXECUTE the function pg.* by grant 1/,
  },
  'keeps those out of a catalog who only run one routine there': {
    file: 'trino-rules/compile/node-access.js',
    from: 'schemaTree.routines.values()',
    to: '[]',
    found: /etl .*may EXECUTE the procedure pg\.etl\.load by grant \d+/,
  },
  'writes no such rule at all': {
    file: RULES,
    from: 'intent.hasRoutineGrants ?',
    to: '!intent.hasRoutineGrants ?',
    found: /may EXECUTE the function pg.* by grant 1/,
  },
  'gives what a deny takes': {
    file: RULES,
    from: 'function: {\n        emptyEffect: { privileges: [] }',
    to: "function: { emptyEffect: { privileges: ['EXECUTE'] }",
    found: /ana .*may not EXECUTE the function pg\.etl.* \(deny \d+ takes it\)/,
  },
  'lets a right be passed on': {
    file: RULES,
    from: "right: 'function', effect: { privileges: ['EXECUTE'] }",
    to: "right: 'function', effect: { privileges: ['GRANT_EXECUTE'] }",
    found: /may not have GRANT_EXECUTE on the function/,
  },
  'lets no function be passed on': {
    file: RULES,
    from: "privileges: ['GRANT_EXECUTE']",
    to: "privileges: ['EXECUTE']",
    found: /gia .*may have GRANT_EXECUTE on the function pg\.etl.* by grant \d+/,
  },
  'lets be passed on what is denied': {
    file: TERMS,
    from: "takes: ['passing-function'] }",
    to: 'takes: [] }',
    found: /hugo .*may not have GRANT_EXECUTE on the function pg\.etl.* \(deny \d+ takes it\)/,
  },
  'writes schemas before their routines': {
    file: RULES,
    from: '...rulesOfRoutines,\n        ...rulesOfSchemas,',
    to: '...rulesOfSchemas,\n        ...rulesOfRoutines,',
    found: /bo may not EXECUTE the procedure pg\.etl\.load \(deny 2 takes it\)/,
  },
  'leaves out single routines': {
    file: RULES,
    from: 'rulesOfRoutines.push(...writer.rules(routineSiblings, kind, parentPatterns));',
    to: '',
    found: /fay .*may EXECUTE the procedure lake\.fn\.twice by grant \d+/,
  },
  'leaves out schemas': {
    file: RULES,
    from: "rulesOfSchemas.push(...writer.rules(schemaSiblings, 'schema', { catalog: literalPattern(catalog.name) }));",
    to: '',
    found: /may EXECUTE the procedure pg\.etl\.\(any other routine\) by grant 2/,
  },
  'means a routine of that name in every schema': {
    file: RULES,
    from: '{ catalog: literalPattern(catalog.name), schema: literalPattern(schema.name) }',
    to: '{ catalog: literalPattern(catalog.name) }',
    found: /may not EXECUTE the (?:function|procedure) lake\.\(any other schema\)\.twice/,
  },
  'takes functions for procedures': {
    file: TERMS,
    from: "EXECUTE_FUNCTION: { gives: ['function']",
    to: "EXECUTE_FUNCTION: { gives: ['procedure']",
    found: /may EXECUTE the function pg.* by grant 1/,
  },
  'gives procedures with functions': {
    file: TERMS,
    from: "EXECUTE_FUNCTION: { gives: ['function']",
    to: "EXECUTE_FUNCTION: { gives: ['function', 'procedure']",
    found: /may not EXECUTE the procedure pg.* \(no grant gives it\)/,
  },
  'does not deny functions': {
    file: TERMS,
    from: "takes: ['function', 'passing-function']",
    to: "takes: ['passing-function']",
    found: /ana .*may not EXECUTE the function pg\.etl.* \(deny \d+ takes it\)/,
  },
  'opens the whole catalog to who runs something': {
    file: 'trino-rules/compile/access-state.js',
    from: "bits(ROUTINE_RIGHTS) | bit('SELECT')",
    to: "bit('SELECT')",
    found: /may not enter the catalog (?:pg|lake) in the mode all/,
  },
});
