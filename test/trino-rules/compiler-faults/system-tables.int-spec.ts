import { stopsEach } from './faulty-compilers.js';

const SETS = 'trino-rules/compile/intent-sets.js';

stopsEach({
  'forgets grants in system': {
    file: SETS,
    from: '[...systemEntries, ...openSchemaEntries(usersWithAccess)]',
    to: 'openSchemaEntries(usersWithAccess)',
    found: /ana .*may SELECT from system\.runtime\..* by grant \d+/,
  },
  'leaves out the denies in system': {
    file: SETS,
    from: '[...systemEntries, ...openSchemaEntries(usersWithAccess)]',
    to: "[...systemEntries.filter(({ kind }) => kind === 'give'), ...openSchemaEntries(usersWithAccess)]",
    found: /eve .*may not SELECT from system\.jdbc\..* \(deny \d+ takes it\)/,
  },
  'opens nothing in system without a grant': {
    file: SETS,
    from: '[...systemEntries, ...openSchemaEntries(usersWithAccess)]',
    to: 'systemEntries',
    found: /ana .*may SELECT from system\.jdbc\..* like everybody who reaches something/,
  },
  'closes system behind what is said there': {
    file: SETS,
    from: '[closingEntry(SYSTEM, principals), ...allSystemEntries]',
    to: '[...allSystemEntries, closingEntry(SYSTEM, principals)]',
    found: /bo .*may SELECT from system\.runtime\..* by grant \d+ \(group watchers\)/,
  },
  'lets readers of system execute nothing': {
    file: SETS,
    from: '.or(usersReading(systemEntries, principals))',
    to: '',
    found: /ana .*may execute queries/,
  },
  'lets those execute whose grant in system is denied': {
    file: SETS,
    from: '.or(usersReading(systemEntries, principals))',
    to: ".or(usersReading(systemEntries.filter(({ kind }) => kind === 'give'), principals))",
    found: /eve may not execute queries/,
  },
  'lets into system those to whom a deny leaves nothing there': {
    file: SETS,
    from: 'readOnly: usersReading(allSystemEntries, principals).or(engine.killQueryCallers)',
    to: 'readOnly: usersWithAccess',
    found: /hal .*may not enter the catalog system \(nothing there needs it\)/,
  },
  'shuts system to those who kill': {
    file: SETS,
    from: 'usersReading(allSystemEntries, principals).or(engine.killQueryCallers)',
    to: 'usersReading(allSystemEntries, principals)',
    found: /ida .*may enter the catalog system, but rule/,
  },
  'lets those into system who are shut out of it alone': {
    file: 'trino-rules/compile/compile.js',
    from: 'intent.defaultModes.all.or(intent.defaultModes.readOnly).minus(holders)',
    to: 'broaderModes.all.or(broaderModes.readOnly).minus(holders)',
    found: /kai may not enter the catalog system \(nothing there needs it\)/,
  },
  'opens system for writing': {
    file: SETS,
    from: 'all: principals.emptySet,\n        readOnly: usersReading(allSystemEntries, principals).or(engine.killQueryCallers)',
    to: 'all: usersReading(allSystemEntries, principals).or(engine.killQueryCallers), readOnly: principals.emptySet',
    found: /may not enter the catalog system in the mode all/,
  },
  'takes what is said in system for what is said of data': {
    file: SETS,
    from: 'resource.catalog === SYSTEM',
    to: 'false',
    found: /(?:fay|hal|gus|ana) .*system/,
  },
  'makes nobody known by a grant in system': {
    file: 'trino-rules/compile/principal-index.js',
    from: '!isInMetadataCatalog(grant.resource, settings)',
    to: "!isInMetadataCatalog(grant.resource, settings) && grant.resource.catalog !== 'system'",
    found: /bot .*may SELECT from shared\..* by grant \d+/,
  },
});
