import { stopsEach } from './faulty-compilers.js';

const RIGHTS = 'trino-rules/compile/engine-rights.js';

stopsEach({
  'leaves out the denies on the engine': {
    file: RIGHTS,
    from: '.minus(denied(privilege, isThere))',
    to: '',
    found: /bo may not view other people's queries \(deny \d+ takes it\)/,
  },
  'takes a deny on the engine for one of everything there': {
    file: RIGHTS,
    from: "each.kind === 'deny' && isThere(each.resource) && each.privileges.includes(privilege)",
    to: "each.kind === 'deny' && isThere(each.resource)",
    found: /bo .*may kill other people's queries by grant \d+/,
  },
  'takes ended grants on the engine for live ones': {
    file: RIGHTS,
    from: 'grant.privileges.includes(privilege) && hasEffect(grant, at))',
    to: 'grant.privileges.includes(privilege))',
    found: /dee .*may not (?:view|kill) other people's queries/,
  },
  'gives all rights over the engine alike': {
    file: RIGHTS,
    from: 'isThere(grant.resource) && grant.privileges.includes(privilege)',
    to: 'isThere(grant.resource)',
    found: /ana .*may not kill other people's queries/,
  },
  'means one holder of each grant on the engine': {
    file: RIGHTS,
    from: 'all.or(principals.resolvePrincipal(principal))',
    to: 'principals.resolvePrincipal(principal)',
    found: /bo .*may kill other people's queries by grant \d+/,
  },
  'takes viewing for killing': {
    file: RIGHTS,
    from: "kill = holders('KILL_QUERIES')",
    to: "kill = holders('VIEW_QUERIES')",
    found: /ana may not kill other people's queries/,
  },
  'takes reading system information for writing it': {
    file: RIGHTS,
    from: "write: holders('WRITE_SYSTEM_INFORMATION')",
    to: "write: holders('READ_SYSTEM_INFORMATION')",
    found: /eve .*may not write system information/,
  },
  'writes no rule for who has two rights': {
    file: RIGHTS,
    from: '{ allow: [...allow, right], users: users.and(held) },',
    to: '',
    found: /ana may view other people's queries by grant \d+/,
  },
  'forgets the procedure that kills': {
    file: 'trino-rules/compile/compile.js',
    from: 'killingRules(intent.engine, intent.principals)',
    to: '[]',
    found: /may EXECUTE the procedure system\.runtime\.kill_query by grant \d+/,
  },
  'gives every procedure of the engine': {
    file: RIGHTS,
    from: ", procedure: 'kill_query' }",
    to: ' }',
    found: /may not EXECUTE the procedure system\.runtime\.\(any other (?:procedure|routine)\)/,
  },
  'gives the procedure that kills to all who execute': {
    file: 'trino-rules/compile/compile.js',
    from: 'killingRules(intent.engine, intent.principals)',
    to: 'killingRules({ ...intent.engine, callKill: intent.reachesSomething }, intent.principals)',
    found: /ana .*may not EXECUTE the procedure system\.runtime\.kill_query/,
  },
  'gives the procedure that kills also where it is denied': {
    file: RIGHTS,
    from: "callKill: holders('CALL_PROCEDURE', isKillQuery, killing)",
    to: 'callKill: killing',
    found: /ivy .*may not EXECUTE the procedure system\.runtime\.kill_query/,
  },
  'lets nobody call it without the right to kill': {
    file: RIGHTS,
    from: "callKill: holders('CALL_PROCEDURE', isKillQuery, killing)",
    to: "callKill: killing.minus(killing.minus(holders('CALL_PROCEDURE', isKillQuery, killing)))",
    found: /jan .*may EXECUTE the procedure system\.runtime\.kill_query by grant \d+/,
  },
  'lets those who kill pass it on': {
    file: RIGHTS,
    from: "privileges: ['EXECUTE'] }",
    to: "privileges: ['GRANT_EXECUTE'] }",
    found: /may not have GRANT_EXECUTE on the procedure system\.runtime\.kill_query/,
  },
  'lets those who call the procedure that kills execute nothing': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '.or(engine.callKill).or(readersOf(',
    to: '.or(readersOf(',
    found: /may execute queries/,
  },
  'lets those execute who kill and may not call the procedure': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '.or(engine.callKill).or(readersOf(',
    to: '.or(engine.callKill).or(engine.kill).or(readersOf(',
    found: /ivy .*may not execute queries/,
  },
  'lets those who view execute': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '.or(engine.callKill).or(readersOf(',
    to: '.or(engine.callKill).or(engine.read).or(readersOf(',
    found: /cy .*may not execute queries/,
  },
  'lets nobody execute by a grant of that alone': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '.or(engine.execute)',
    to: '',
    found: /kit .*may execute queries by grant \d+/,
  },
  'lets those who view execute by the grant of that': {
    file: RIGHTS,
    from: "execute: holders('EXECUTE_QUERIES')",
    to: "execute: holders('READ_SYSTEM_INFORMATION')",
    found: /may not execute queries/,
  },
  'leaves system information out': {
    file: 'trino-rules/compile/rules-text.js',
    from: "rules.length === 0 && section === 'system_information'",
    to: "section === 'system_information'",
    found: /cy .*may write system information by grant \d+/,
  },
});
