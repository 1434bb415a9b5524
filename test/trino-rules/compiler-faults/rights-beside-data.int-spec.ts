import { stopsEach } from './faulty-compilers.js';

const RIGHTS = 'trino-rules/compile/engine-rights.js';

stopsEach({
  'leaves out the denies on the engine': {
    file: RIGHTS,
    from: '.minus(deniedUsers(privilege, isRelevantNode))',
    to: '',
    found: /bo may not view other people's queries \(deny \d+ takes it\)/,
  },
  'takes a deny on the engine for one of everything there': {
    file: RIGHTS,
    from: "each.kind === 'deny' && isRelevantNode(each.resource) && each.privileges.includes(privilege)",
    to: "each.kind === 'deny' && isRelevantNode(each.resource)",
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
    from: 'isRelevantNode(grant.resource) && grant.privileges.includes(privilege)',
    to: 'isRelevantNode(grant.resource)',
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
    from: "killers = holders('KILL_QUERIES')",
    to: "killers = holders('VIEW_QUERIES')",
    found: /ana may not kill other people's queries/,
  },
  'takes reading system information for writing it': {
    file: RIGHTS,
    from: "informationWriters: holders('WRITE_SYSTEM_INFORMATION')",
    to: "informationWriters: holders('READ_SYSTEM_INFORMATION')",
    found: /eve .*may not write system information/,
  },
  'writes no rule for who has two rights': {
    file: RIGHTS,
    from: '{ allow: [...allow, right], users: users.and(rightHolders) },',
    to: '',
    found: /ana may view other people's queries by grant \d+/,
  },
  'forgets the procedure that kills': {
    file: 'trino-rules/compile/compile.js',
    from: 'killProcedureRules(intent.engine, intent.principals)',
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
    from: 'killProcedureRules(intent.engine, intent.principals)',
    to: 'killProcedureRules({ ...intent.engine, killQueryCallers: intent.usersWithAccess }, intent.principals)',
    found: /ana .*may not EXECUTE the procedure system\.runtime\.kill_query/,
  },
  'gives the procedure that kills also where it is denied': {
    file: RIGHTS,
    from: "killQueryCallers: holders('CALL_PROCEDURE', isKillQuery, ownerKillers)",
    to: 'killQueryCallers: ownerKillers',
    found: /ivy .*may not EXECUTE the procedure system\.runtime\.kill_query/,
  },
  'lets nobody call it without the right to kill': {
    file: RIGHTS,
    from: "killQueryCallers: holders('CALL_PROCEDURE', isKillQuery, ownerKillers)",
    to: "killQueryCallers: ownerKillers.minus(ownerKillers.minus(holders('CALL_PROCEDURE', isKillQuery, ownerKillers)))",
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
    from: '.or(engine.killQueryCallers)\n        .or(usersReading(',
    to: '.or(usersReading(',
    found: /may execute queries/,
  },
  'lets those execute who kill and may not call the procedure': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '.or(engine.killQueryCallers)\n        .or(usersReading(',
    to: '.or(engine.killQueryCallers).or(engine.killers).or(usersReading(',
    found: /ivy .*may not execute queries/,
  },
  'lets those who view execute': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '.or(engine.killQueryCallers)\n        .or(usersReading(',
    to: '.or(engine.killQueryCallers).or(engine.informationReaders).or(usersReading(',
    found: /cy .*may not execute queries/,
  },
  'lets nobody execute by a grant of that alone': {
    file: 'trino-rules/compile/intent-sets.js',
    from: '.or(engine.executors)',
    to: '',
    found: /kit .*may execute queries by grant \d+/,
  },
  'lets those who view execute by the grant of that': {
    file: RIGHTS,
    from: "executors: holders('EXECUTE_QUERIES')",
    to: "executors: holders('READ_SYSTEM_INFORMATION')",
    found: /may not execute queries/,
  },
  'leaves system information out': {
    file: 'trino-rules/compile/rules-text.js',
    from: "rules.length === 0 && section === 'system_information'",
    to: "section === 'system_information'",
    found: /cy .*may write system information by grant \d+/,
  },
});
