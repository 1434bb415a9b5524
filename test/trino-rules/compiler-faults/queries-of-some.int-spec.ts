import { stopsEach } from './faulty-compilers.js';

const QUERIES = 'trino-rules/compile/engine-rights.js';
const RIGHTS = 'trino-rules/compile/engine-rights.js';

stopsEach({
  'writes no rules about the queries of some': {
    file: RIGHTS,
    from: '...rulesByOwner(rightsByOwner, principals)',
    to: '...[]',
    found: /lea (?:\(and \d+ more\) )?may view queries of ana by grant \d+/,
  },
  'writes them behind the rules about all': {
    file: RIGHTS,
    from: '[...rulesByOwner(rightsByOwner, principals), ...generalRules]',
    to: '[...generalRules, ...rulesByOwner(rightsByOwner, principals)]',
    found: /may (?:not )?(?:view|kill) queries of/,
  },
  'takes them for rules about all': {
    file: QUERIES,
    from: 'queryOwner: patternOfNames(namesOf(owners)),',
    to: '',
    found: /may not (?:view|kill) queries of/,
  },
  'leaves out the denies': {
    file: QUERIES,
    from: 'grantedOwners.minus(deniedOwners)',
    to: 'grantedOwners',
    found: /ned (?:\(and \d+ more\) )?may not kill queries of ana \(deny \d+ takes it\)/,
  },
  'leaves out the denies of a right over all': {
    file: QUERIES,
    from: 'hasRightOverAll ? deniedOwners :',
    to: 'hasRightOverAll ? emptySet :',
    found: /oda (?:\(and \d+ more\) )?may not kill queries of/,
  },
  'gives what a deny on the engine takes': {
    file: QUERIES,
    from: 'deniedOnEngine.has(user) ? emptySet :',
    to: '',
    found: /tom may not kill queries of/,
  },
  'takes ended grants for live ones': {
    file: QUERIES,
    from: 'grant.privileges.includes(privilege) && hasEffect(grant, at);',
    to: 'grant.privileges.includes(privilege);',
    found: /uma may not (?:kill|execute)/,
  },
  'leaves out deactivated owners': {
    file: QUERIES,
    from: 'owners: principals.resolveOwners(queries) }];\n        }),\n        denies',
    to: 'owners: principals.resolvePrincipal(queries) }];\n        }),\n        denies',
    found: /lea may (?:view|kill) queries of cy/,
  },
  'gives the rights of one to all': {
    file: QUERIES,
    from: 'holders.has(user)',
    to: 'true',
    found: /may (?:not )?(?:view|kill) queries of/,
  },
  'gives the procedure to those alone who kill the queries of all': {
    file: RIGHTS,
    from: "holders('CALL_PROCEDURE', isKillQuery, ownerKillers)",
    to: "holders('CALL_PROCEDURE', isKillQuery, killers)",
    found: /lea .*may EXECUTE the procedure system.runtime.kill_query/,
  },
  'takes the right to view for the right to kill': {
    file: QUERIES,
    from: "['kill', 'KILL_QUERIES']",
    to: "['kill', 'VIEW_QUERIES']",
    found: /may (?:not )?kill queries of/,
  },
  'takes queries for data': {
    file: 'trino-rules/compile/intent-sets.js',
    from: 'resource.queries === undefined &&',
    to: '',
    found: /ned may EXECUTE the function/,
  },
});
