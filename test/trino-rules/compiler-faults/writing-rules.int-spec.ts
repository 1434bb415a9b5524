import { stopsEach } from './faulty-compilers.js';

// Faults between sets of users and a document: order, merging, patterns, sections, service accounts, `system`.
stopsEach({
  // Order
  'asks catalogs before schemas and tables': {
    file: 'trino-rules/compile/table-rules.js',
    from: 'Math.max(highest, positions.get(name) ?? BEFORE_ALL)',
    to: 'BEFORE_ALL',
    found: /fay may not SELECT from hr\.staff\.salaries \(deny 5 takes it\), but rule tables\[\d+\] gives it/,
  },
  'asks catalogs before schemas when schemas are owned': {
    file: 'trino-rules/compile/right-rules.js',
    from: "...rulesOfSchemas,\n        ...writer.rules(catalogSiblings, 'catalog', {}),",
    to: "...writer.rules(catalogSiblings, 'catalog', {}),\n        ...rulesOfSchemas,",
    found: /hal .*may not have OWNERSHIP of the schema shop\.us \(deny \d+ takes it\)/,
  },
  'closes a node before the rules of users with access': {
    file: 'trino-rules/compile/rectangles.js',
    from: 'rank === 0 && (sibling.holders.isEmpty() || decidedUsers.get(sibling)?.contains(sibling.holders) === true)',
    to: 'true',
    found: /Zed \(and \d+ more\) may not SELECT from hr\.staff\.people \(no grant gives it\)/,
  },
  'puts the service accounts last': {
    file: 'trino-rules/compile/compile.js',
    from: '[...accountRules.tables, ...tables]',
    to: '[...tables, ...accountRules.tables]',
    found: /service-account-\w+ .*?may SELECT from lake\.secret\..* as a service account/,
  },
  // Merging
  'drops what another grant gives': {
    file: 'trino-rules/compile/access-state.js',
    from: "givenRights | rightBits(entry.privileges, 'gives')",
    to: "rightBits(entry.privileges, 'gives')",
    found: /bo may SELECT from sales\.eu\.orders by grant \d+ \(group readers\)/,
  },
  'gives all users of a node the access of one of them': {
    file: 'trino-rules/compile/node-access.js',
    from: 'getOrInsert(nextStates, oldState,',
    to: 'getOrInsert(nextStates, entry,',
    found: /clerk .*may not SELECT from sales\.eu\.\(any other table\) \(no grant gives it\)/,
  },
  'keeps one column rule of several': {
    file: 'trino-rules/compile/access-state.js',
    from: 'withHiddenColumns(rules, alsoHiddenColumns)',
    to: 'withHiddenColumns(rules.slice(0, 1), alsoHiddenColumns)',
    found: /fay .*may not SELECT the column ssn of hr\.staff\.people by policies 6, 7/,
  },
  'does not see that privileges differ from those above': {
    file: 'trino-rules/compile/table-rules.js',
    from: 'parentState.effect === nodeState.effect',
    to: 'parentState.effect.filter === nodeState.effect.filter && parentState.effect.columns === nodeState.effect.columns',
    found: /bo may INSERT into sales\.eu\.orders by grant/,
  },
  'does not see that filters differ from those above': {
    file: 'trino-rules/compile/table-rules.js',
    from: 'parentState.effect === nodeState.effect',
    to: 'parentState.effect.privileges.join() === nodeState.effect.privileges.join() && nodeState.effect.filter',
    found: /may SELECT only those rows of sales\.eu\.visits for which/,
  },
  'does not see that hidden columns differ from those above': {
    file: 'trino-rules/compile/table-rules.js',
    from: 'parentState.effect === nodeState.effect',
    to: 'parentState.effect.privileges.join() === nodeState.effect.privileges.join() && nodeState.effect.columns',
    found: /may not SELECT the column iban of sales\.eu\.payments/,
  },
  'shares a rule among the users of either': {
    file: 'trino-rules/compile/rectangles.js',
    from: 'a.classes.or(b.classes).and(allowedClasses)',
    to: 'a.classes.or(b.classes)',
    found: /may not \w+ \w+ lake\.raw\.t\d/,
  },
  'loses the second of two nodes that share a rule': {
    file: 'trino-rules/compile/rectangles.js',
    from: 'rows: a.rows.or(b.rows),',
    to: 'rows: a.rows,',
    found: /may INSERT into lake\.raw\.t\d by grant/,
  },
  'loses the level above in a rule about tables': {
    file: 'trino-rules/compile/table-rules.js',
    from: '{ ...parentPatterns, [level]: literalPattern(node.name) }',
    to: "{ ...parentPatterns, ...(level === 'catalog' && { catalog: literalPattern(node.name) }) }",
    found: /pam may not INSERT into lake\.\(any other schema\)\.t3 \(no grant gives it\)/,
  },
  'loses the first of an audience': {
    file: 'trino-rules/compile/sibling-rules.js',
    from: 'this.intent.principals.namesOf(people)',
    to: 'this.intent.principals.namesOf(people).slice(people.count() > 1 ? 1 : 0)',
    found: /ana \(and 1 more\) may SELECT from lake\.raw\.t1 by grant 11/,
  },
  // Patterns
  'writes a plain character for a special one': {
    file: 'trino-rules/compile/name-pattern.js',
    from: '`[${character}]`',
    to: "'x'",
    found: /eve\.x may SELECT from sales\.eu/,
  },
  'forgets that a name may end where others go on': {
    file: 'trino-rules/compile/name-pattern.js',
    from: "`(${options.join('|')})?`",
    to: "`(${options.join('|')})`",
    found: /clerk may SELECT from lake\.raw/,
  },
  'opens no parentheses around alternatives': {
    file: 'trino-rules/compile/name-pattern.js',
    from: "options.join('') : `(${options.join('|')})`",
    to: "options.join('') : options.join('|')",
    found: /service-account-grantline may SELECT from lake\.raw\..* as a service account, but rule catalogs/,
  },
  'ends a range of characters too early': {
    file: 'trino-rules/compile/name-pattern.js',
    from: 'run.charAt(run.length - 1)',
    to: 'run.charAt(run.length - 2)',
    found: /clerk14 \(and 1 more\) may SELECT from lake\.raw\.t1 by grant 10/,
  },
  'puts characters into one class that go on differently': {
    file: 'trino-rules/compile/name-pattern.js',
    from: "[middle, branch.tails.mayEnd, ...branch.tails.options].join('\\n')",
    to: 'middle',
    found: /clerk20 \(and 39 more\) may not SELECT from lake\.raw\..* \(no grant means anybody of that name\)/,
  },
  'lowers the case of people': {
    file: 'trino-rules/compile/name-pattern.js',
    from: '[...new Set(names)].sort()',
    to: '[...new Set([...names].map((name) => name.toLowerCase()))].sort()',
    found: /Zed may SELECT from sales\.eu/,
  },
  'forgets that GRANT_SELECT contains SELECT when SELECT is denied beside it': {
    file: 'trino-rules/compile/access-state.js',
    from: "=== 0 ? 0 : bit('SELECT')",
    to: "=== 0 ? 0 : ~bit('GRANT_SELECT')",
    found: /may INSERT into events\.claims_raw\..*, but rule tables\[\d+\] lets \w+ only GRANT_SELECT/,
  },
  'drops masks': {
    file: 'trino-rules/compile/access-state.js',
    from: 'rules.set(name, { name, mask })',
    to: 'undefined',
    found: /may SELECT the column name of hr\.staff.* only as/,
  },
  // Sections
  'lets writers into a catalog for reading alone': {
    file: 'trino-rules/compile/compile.js',
    from: "{ effect: { allow: 'all' }, rank: 2",
    to: "{ effect: { allow: 'read-only' }, rank: 2",
    found:
      /pam .*may enter the catalog lake in the mode all, but rule catalogs\[\d\] lets pam into the catalog in the mode read-only/,
  },
  'lets readers into a catalog in the mode all': {
    file: 'trino-rules/compile/compile.js',
    from: "{ effect: { allow: 'read-only' }, rank: 1",
    to: "{ effect: { allow: 'all' }, rank: 1",
    found: /ivy may not enter the catalog hr in the mode all/,
  },
  'lets all users execute queries': {
    file: 'trino-rules/compile/engine-rights.js',
    from: '{ user: patternOfNames(namesOf(users)), allow }',
    to: '{ allow }',
    found: /gus \(and 4 more\) may not execute queries \(the account is deactivated\)/,
  },
  "shows others' queries": {
    file: 'trino-rules/compile/engine-rights.js',
    from: '{ execute: executors, view: viewers,',
    to: '{ execute: executors, view: executors,',
    found: /may not view other people's queries/,
  },
  'leaves schemas owned that a deny has closed': {
    file: 'trino-rules/compile/right-rules.js',
    from: 'denialUsers(emptyEffect, losingUsers)',
    to: 'denialUsers(emptyEffect, emptySet)',
    found: /hal .*may not have OWNERSHIP of the schema shop\.us \(deny \d+ takes it\)/,
  },
  // Service accounts, impersonation, session properties
  'lets service accounts write where they may read': {
    file: 'trino-rules/compile/compile.js',
    from: "rulesFor(readableCatalogs, { allow: 'read-only' })",
    to: "rulesFor(readableCatalogs, { allow: 'all' })",
    found: /service-account-\w+ .*may not enter the catalog tpch in the mode all/,
  },
  'gives service accounts too little': {
    file: 'trino-rules/compile/compile.js',
    from: '[...TABLE_PRIVILEGES]',
    to: "['SELECT']",
    found: /service-account-\w+ .*may INSERT into lake\..* as a service account/,
  },
  'lets every service account impersonate a user': {
    file: 'trino-rules/compile/compile.js',
    from: 'original_user: patternOfNames([settings.ownAccount])',
    to: 'original_user: patternOfNames(settings.serviceAccounts)',
    found: /service-account-etl may not impersonate ana/,
  },
  'lets users without access be impersonated': {
    file: 'trino-rules/compile/compile.js',
    from: 'namesOf(intent.usersWithAccess.and(activePeople))',
    to: 'namesOf(activePeople)',
    found: /service-account-grantline may not impersonate nia/,
  },
  'lets people set every property': {
    file: 'trino-rules/compile/compile.js',
    from: 'property: patternOfNames(settings.sessionProperties), ',
    to: '',
    found: /Zed \(and \d+ more\) may not SET SESSION \(any other property\)/,
  },
  'leaves the last word on system to the engine': {
    file: 'trino-rules/compile/compile.js',
    from: ", { allow: 'none' }]",
    to: ']',
    found: /gus \(and 4 more\) may not enter the catalog system in the mode all/,
  },
});
