import { stopsEach } from './faulty-compilers.js';

// Faults between a snapshot and sets of users: expiry, memberships, inheritance, denies, exceptions, filters, masks.
stopsEach({
  // Expiry and revocation
  'counts revoked grants': {
    file: 'trino-rules/compile/engine-terms.js',
    from: 'revokedAt === null && ',
    to: '',
    found: /rex may not SELECT from sales\.eu\.orders \(no grant gives it\)/,
  },
  'never lets a grant expire': {
    file: 'trino-rules/compile/engine-terms.js',
    from: '(expiresAt === null || expiresAt > now)',
    to: 'true',
    found: /lou may not SELECT from sales\.eu\.orders \(no grant gives it\)/,
  },
  'lets a grant live at the instant of its end': {
    file: 'trino-rules/compile/engine-terms.js',
    from: 'expiresAt > now',
    to: 'expiresAt >= now',
    found: /lou may not SELECT from sales\.eu\.orders \(no grant gives it\)/,
  },
  'forgets grants that will expire': {
    file: 'trino-rules/compile/engine-terms.js',
    from: '(expiresAt === null || expiresAt > now)',
    to: 'expiresAt === null',
    found: /dee may SELECT from sales\.eu\.orders by grant/,
  },
  // Denies and exceptions
  'ignores denies': {
    file: 'trino-rules/compile/access-state.js',
    from: 'this.givenRights & ~this.takenRights',
    to: 'this.givenRights',
    found: /may not SELECT from hr\.vault\..* \(deny \d+ takes it\)/,
  },
  'lets nothing reach further than its node': {
    file: 'trino-rules/compile/node-access.js',
    from: 'states[position] = nodeState;',
    to: '',
    found: /fay may not INSERT into hr\.vault\.keys \(deny 4 takes it\)/,
  },
  'leaves GRANT_SELECT where SELECT is denied': {
    file: 'trino-rules/compile/engine-terms.js',
    from: "takes: ['SELECT', 'GRANT_SELECT']",
    to: "takes: ['SELECT']",
    found: /may not have GRANT_SELECT on hr\.staff\.salaries \(deny \d+ takes it\)/,
  },
  'ignores exceptions': {
    file: 'trino-rules/compile/principal-index.js',
    from: 'users.minus(excepted)',
    to: 'users',
    found: /ivy may SELECT from hr\.staff\.salaries by grant/,
  },
  'takes exceptions for the only members': {
    file: 'trino-rules/compile/principal-index.js',
    from: 'users.minus(excepted)',
    to: 'users.and(excepted)',
    found: /ivy may SELECT from hr\.staff\.salaries by grant/,
  },
  // Filters, masks, hidden columns
  'lets rows through that pass one filter of two': {
    file: 'trino-rules/compile/access-state.js',
    from: ".join(' AND ')",
    to: ".join(' OR ')",
    found: /may SELECT only those rows of sales\.eu\.visits for which \(/,
  },
  'joins filters without parentheses': {
    file: 'trino-rules/compile/access-state.js',
    from: '`(${expression})`',
    to: 'expression',
    found: /may SELECT only those rows of sales\.eu\.visits for which \(/,
  },
  'keeps one filter of several': {
    file: 'trino-rules/compile/access-state.js',
    from: '= filterOf(restrictions)',
    to: '= filterOf(restrictions.slice(0, 1))',
    found: /may SELECT only those rows of sales\.eu\.\w+ for which \(region = 'EU'\)/,
  },
  'keeps one hidden column of several': {
    file: 'trino-rules/compile/access-state.js',
    from: '= columnsOf(restrictions)',
    to: '= columnsOf(restrictions.slice(0, 1))',
    found: /may not SELECT the column ssn of hr\.staff\.people/,
  },
  'lets the mask of the node farther away count': {
    file: 'trino-rules/compile/access-state.js',
    from: 'nearestMask.depth > entry.depth',
    to: 'nearestMask.depth < entry.depth',
    found: /SELECT the column name of hr\.staff\.people only as/,
  },
  'shows a column that two masks at the same distance claim': {
    file: 'trino-rules/compile/access-state.js',
    from: 'conflictColumns.add(entry.column)',
    to: 'undefined',
    found: /may not SELECT the column phone of hr\.staff/,
  },
  'judges a catalog by what is given on it alone': {
    file: 'trino-rules/compile/node-access.js',
    from: 'this.walkSchema(schema, access, neededModes);',
    to: ';',
    found: /ivy may SELECT from hr\.staff\.people by grant 1, .* in the mode none/,
  },
  // Catalogs that are closed
  'opens all of system': {
    file: 'trino-rules/compile/intent-sets.js',
    from: 'resource: { catalog: SYSTEM, schema },',
    to: 'resource: { catalog: SYSTEM },',
    found: /may not SELECT from system\.\(any other schema\)/,
  },
  "gives what was granted in the service's own catalog": {
    file: 'trino-rules/compile/engine-terms.js',
    from: 'catalog === metadataCatalog',
    to: 'false',
    found: /bo may not SELECT from grantline\..* \(no grant gives it\)/,
  },
  // People
  'counts deactivated members': {
    file: 'trino-rules/compile/principal-index.js',
    from: 'accountSet(ids).and(activePeople)',
    to: 'accountSet(ids)',
    found: /gus may not SELECT from sales\.eu.* \(the account is deactivated\)/,
  },
  'resolves a group to all users': {
    file: 'trino-rules/compile/principal-index.js',
    from: 'return membersByGroup.get(principal.id) ?? emptySet;',
    to: 'return everyone;',
    found: /clerk \(and \d+ more\) may not SELECT from sales\.eu\.payments \(no grant gives it\)/,
  },
  'leaves engine principals out': {
    file: 'trino-rules/compile/principal-index.js',
    from: "if (subject.kind === 'engine')",
    to: 'if (false)',
    found: /bi-tool may SELECT from sales\.eu\.orders by grant/,
  },
});
