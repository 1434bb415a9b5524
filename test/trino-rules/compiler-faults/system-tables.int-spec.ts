import { stopsEach } from './faulty-compilers.js';

const SETS = 'trino-rules/compile/intent-sets.js';

stopsEach({
  'forgets grants in system': {
    file: SETS,
    from: '[...inSystem, ...openSchemas(reachesSomething)]',
    to: 'openSchemas(reachesSomething)',
    found: /ana .*may SELECT from system\.runtime\..* by grant \d+/,
  },
  'leaves out the denies in system': {
    file: SETS,
    from: '[...inSystem, ...openSchemas(reachesSomething)]',
    to: "[...inSystem.filter(({ kind }) => kind === 'give'), ...openSchemas(reachesSomething)]",
    found: /eve .*may not SELECT from system\.jdbc\..* \(deny \d+ takes it\)/,
  },
  'opens nothing in system without a grant': {
    file: SETS,
    from: '[...inSystem, ...openSchemas(reachesSomething)]',
    to: 'inSystem',
    found: /ana .*may SELECT from system\.jdbc\..* like everybody who reaches something/,
  },
  'closes system behind what is said there': {
    file: SETS,
    from: '[closing(SYSTEM, principals), ...system]',
    to: '[...system, closing(SYSTEM, principals)]',
    found: /bo .*may SELECT from system\.runtime\..* by grant \d+ \(group watchers\)/,
  },
  'lets readers of system execute nothing': {
    file: SETS,
    from: '.or(readersOf(inSystem, principals))',
    to: '',
    found: /ana .*may execute queries/,
  },
  'lets those execute whose grant in system is denied': {
    file: SETS,
    from: '.or(readersOf(inSystem, principals))',
    to: ".or(readersOf(inSystem.filter(({ kind }) => kind === 'give'), principals))",
    found: /eve may not execute queries/,
  },
  'lets into system those to whom a deny leaves nothing there': {
    file: SETS,
    from: 'readOnly: readersOf(system, principals).or(engine.callKill)',
    to: 'readOnly: reachesSomething',
    found: /hal .*may not enter the catalog system \(nothing there needs it\)/,
  },
  'shuts system to those who kill': {
    file: SETS,
    from: 'readersOf(system, principals).or(engine.callKill)',
    to: 'readersOf(system, principals)',
    found: /ida .*may enter the catalog system, but rule/,
  },
  'lets those into system who are shut out of it alone': {
    file: 'trino-rules/compile/compile.js',
    from: 'intent.otherModes.all.or(intent.otherModes.readOnly).minus(holders)',
    to: 'otherwise.all.or(otherwise.readOnly).minus(holders)',
    found: /kai may not enter the catalog system \(nothing there needs it\)/,
  },
  'opens system for writing': {
    file: SETS,
    from: 'all: principals.none, readOnly: readersOf(system, principals).or(engine.callKill)',
    to: 'all: readersOf(system, principals).or(engine.callKill), readOnly: principals.none',
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
    from: '!isClosed(grant.resource, settings)',
    to: "!isClosed(grant.resource, settings) && grant.resource.catalog !== 'system'",
    found: /bot .*may SELECT from shared\..* by grant \d+/,
  },
});
