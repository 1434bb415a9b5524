import { stopsEach } from './faulty-compilers.js';

const ACTING = 'trino-rules/compile/engine-rights.js';
const INDEX = 'trino-rules/compile/principal-index.js';

stopsEach({
  'opens a chain of two that act': {
    file: ACTING,
    from: "membersOf({ type: 'everyone' }).minus(actors)",
    to: "membersOf({ type: 'everyone' })",
    found: /board may not impersonate (?:dash|twin|muted|list)/,
  },
  'acts as names that nobody has': {
    file: ACTING,
    from: "membersOf({ type: 'everyone' })",
    to: 'principals.allSubjects',
    found: /(?:alone|board) .*may not impersonate named/,
  },
  'leaves out the denies of acting': {
    file: ACTING,
    from: '.minus(targetsIn(deniesByActors, actor))',
    to: '',
    found: /board may not impersonate ana \(deny \d+ takes it\)/,
  },
  'takes the denies of one for those of all': {
    file: ACTING,
    from: 'rows.filter((row) => row.actors.has(actor))',
    to: '(rows === deniesByActors ? rows : rows.filter((row) => row.actors.has(actor)))',
    found: /dash .*may impersonate bo by grant \d+/,
  },
  'gives the grants of one to all': {
    file: ACTING,
    from: 'rows.filter((row) => row.actors.has(actor))',
    to: '(rows === grantsByActors ? rows : rows.filter((row) => row.actors.has(actor)))',
    found: /(?:dash|twin|list|alone|board) (?:\(and \d+ more\) )?may not impersonate/,
  },
  'takes ended grants of acting for live ones': {
    file: ACTING,
    from: 'hasEffect(grant, snapshot.at) && ',
    to: '',
    found: /past may not impersonate/,
  },
  'means one grant of each that acts': {
    file: ACTING,
    from: 'earlierRow?.targets.or(targets) ?? targets',
    to: 'targets',
    found: /(?:list|board) may impersonate \S+ by grant \d+/,
  },
  'lets all act as the same': {
    file: ACTING,
    from: 'getOrInsert(groupsByTargets, targets.key(),',
    to: "getOrInsert(groupsByTargets, 'all',",
    found: /may (?:not )?impersonate/,
  },
  'denies where it should allow': {
    file: ACTING,
    from: 'allow: true',
    to: 'allow: false',
    found: /may impersonate \S+ by grant \d+/,
  },
  'lets everybody act': {
    file: ACTING,
    from: 'original_user: patternOfNames(namesOf(actors)),',
    to: '',
    found: /may not impersonate/,
  },
  'turns those who act and those whom they act as round': {
    file: ACTING,
    from: 'original_user: patternOfNames(namesOf(actors))',
    to: 'original_user: patternOfNames(namesOf(targets))',
    found: /may not impersonate/,
  },
  'writes no rules of acting': {
    file: 'trino-rules/compile/compile.js',
    from: '...impersonationRules(intent.impersonation, intent.principals)',
    to: '...[]',
    found: /may impersonate \S+ by grant \d+/,
  },
  'writes names that the engine reads otherwise': {
    file: ACTING,
    from: 'const targets = actorTargets.and(writableTargets)',
    to: 'const targets = actorTargets',
    found: /x\$y|new_user/,
  },
  'takes being named by a deny for being known': {
    file: INDEX,
    from: "kind === 'engine' && knownEngines.has(name)",
    to: "kind === 'engine'",
    found: /(?:alone|board) .*may not impersonate named/,
  },
  'takes acting for access to data': {
    file: 'trino-rules/compile/intent-sets.js',
    from: 'resource.as === undefined &&',
    to: '',
    found: /fay may EXECUTE the function/,
  },
});
