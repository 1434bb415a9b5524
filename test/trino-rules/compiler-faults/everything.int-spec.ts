import { stopsEach, stopsNothingElse } from './faulty-compilers.js';

stopsNothingElse();

// Slips about what is said on everything, or to everyone: where it ends, and what a catalog without a name of its own gets.
stopsEach({
  "lets what is said on everything into the service's own catalog": {
    file: 'trino-rules/compile/intent-sets.js',
    from: 'metadataCatalog === null ? effectiveEntries',
    to: 'true ? effectiveEntries',
    found: /catalogs\[\d+\] opens the metadata catalog grantline, in which nobody may be given anything/,
  },
  'lets what is said on everything into system': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '[closingEntry(SYSTEM, principals), ...allSystemEntries]',
    to: 'allSystemEntries',
    found: /cy may not INSERT into system\.jdbc\.\(any other table\) \(no grant gives it\)/,
  },
  'closes a catalog to accounts alone': {
    file: 'trino-rules/compile/principal-index.js',
    from: 'const allSubjects = subjectsWhere(() => true);',
    to: "const allSubjects = subjectsWhere(({ kind }) => kind === 'person');",
    found: /bi-tool may not SELECT from grantline\..* \(no grant gives it\)/,
  },
  'lifts only the denies of everything at a closed catalog': {
    file: 'trino-rules/compile/access-state.js',
    from: 'AccessState.of(restrictions.emptyList, 0, 0, CLOSED_CATALOG)',
    to: 'AccessState.of(restrictions, givenRights, 0, CLOSED_CATALOG)',
    found: /dee may not have GRANT_SELECT on grantline\..* \(no grant gives it\)/,
  },
  'forgets everything where a catalog is named': {
    file: 'trino-rules/compile/node-access.js',
    from: 'rootModes.slice()',
    to: 'rootModes.map(() => null)',
    found:
      /cy may INSERT into shared\..* by grant \d+, but rule catalogs\[\d+\] lets cy into the catalog in the mode none/,
  },
  'lets users into a catalog in which a deny leaves nothing': {
    file: 'trino-rules/compile/node-access.js',
    from: 'for (const { position, nodeState } of access.changes)\n            neededModes[position] = nodeState.neededMode({ ownsSchema: true });',
    to: '',
    found: /dee may not enter the catalog lake in the mode all \(nothing there needs it\)/,
  },
  'shuts no catalog to holders of everything': {
    file: 'trino-rules/compile/compile.js',
    from: "denialUsers({ allow: 'none' }, lockedOutUsers)",
    to: "denialUsers({ allow: 'none' }, emptySet)",
    found: /dee may not enter the catalog tpch in the mode all \(nothing there needs it\)/,
  },
  'says nothing of catalogs that nobody names': {
    file: 'trino-rules/compile/compile.js',
    from: "...writer.rules([sibling('', intent.defaultModes, nobody)], 'everything', {}),",
    to: '',
    found: /ana .*may enter the catalog lake, but rule catalogs\[\d+\] lets ana into the catalog in the mode none/,
  },
  'asks everything before the catalogs': {
    file: 'trino-rules/compile/table-rules.js',
    from: 'rules.push(...own',
    to: 'rules.unshift(...own',
    found: /cy may not have OWNERSHIP of hr\.staff\..* \(deny \d+ takes it\)/,
  },
  'lets owners of everything keep a schema that they lost': {
    file: 'trino-rules/compile/right-rules.js',
    from: "...writer.rules(catalogSiblings, 'catalog', {}),\n        ...writer.rules([rootSibling], 'everything', {})",
    to: "...writer.rules([rootSibling], 'everything', {}),\n        ...writer.rules(catalogSiblings, 'catalog', {})",
    found: /cy may not have OWNERSHIP of the schema hr\..* \(deny \d+ takes it\)/,
  },
  'makes nobody an owner of everything': {
    file: 'trino-rules/compile/right-rules.js',
    from: "...writer.rules(catalogSiblings, 'catalog', {}),\n        ...writer.rules([rootSibling], 'everything', {})",
    to: "...writer.rules(catalogSiblings, 'catalog', {})",
    found:
      /cy may have OWNERSHIP of the schema \(any other catalog\)\.\(any other schema\) by grant \d+, but no rule gives it/,
  },
  'overlooks users who reach only catalogs without a name': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '[defaultModes, ...modesByCatalog.values()]',
    to: '[...modesByCatalog.values()]',
    found: /dee may execute queries, but no rule gives it/,
  },
  'counts engine principals of grants without effect among everyone': {
    file: 'trino-rules/compile/principal-index.js',
    from: ' && !isInMetadataCatalog(grant.resource, settings)',
    to: '',
    found: /unknown may not SELECT from shared\.open\..* \(no grant gives it\)/,
  },
  'forgets engine principals in groups': {
    file: 'trino-rules/compile/principal-index.js',
    from: '.or(engineSet(group.engines))',
    to: '',
    found: /bi-tool may SELECT from \(any other catalog\)\..* by grant \d+ \(group analysts\)/,
  },
  'takes what is said on everything for a catalog without a name': {
    file: 'trino-rules/compile/sibling-rules.js',
    from: "scope === 'everything' ? {} :",
    to: "scope === 'everything' ? { catalog: 'everything' } :",
    found:
      /cy may INSERT into hr\.staff\..* by grant \d+, but rule catalogs\[\d+\] lets cy into the catalog in the mode none/,
  },
});
