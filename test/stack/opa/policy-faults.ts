/** A policy with one fault. */
export interface FaultyPolicy {
  fault: string;
  text: string;
}

/** Statements without which the policy decides alike, in more time: children are looked at before they count. */
const FOR_SPEED = [
  /^some key in holders\(name, catalog, schema\)$/,
  /^some key in array\.concat\(keys\(name\), \[""\]\)$/,
];

type Change = readonly [what: string, from: RegExp, to: string];

const CHANGES: readonly Change[] = [
  ['is not negated', /^(\s*)not /, '$1'],
  ['asks the opposite', / == /, ' != '],
  ['adds what it takes', /\) - (?=\w)/, ') | '],
  ['takes what it adds', / \| (?=here|open_letters|routine_left|\{column)/, ' & '],
  ['forgets a letter', /\["F", "H", "P"\]|\["I", "U", "D"\]/, '["F"]'],
  ['forgets SELECT', /\{"S", "I", /, '{"I", '],
  ['forgets INSERT', /\{"S", "I", /, '{"S", '],
  ['forgets functions', /\{"F", "H", "P"\}/, '{"H", "P"}'],
  ['forgets procedures', /\{"F", "H", "P"\}/, '{"F", "H"}'],
  ['counts one less', /\) > 0/, ') > 1'],
  ['counts from another', / - 1\]/, ' - 2]'],
  ['forgets everything', /\["", catalog\]/, '[catalog]'],
  ['lets a right lapse early', /until \* 1000000/, 'until * 1000'],
  ['never lets a right lapse', / < until \* 1000000/, ' > until - until'],
  ['forgets a word', /"location", "path", "url"/, '"path", "url"'],
  ['forgets another word', /"location", "path", "url"/, '"location", "path"'],
  ['forgets a procedure', /\{"add_files", "add_files_from_table"\}/, '{"add_files"}'],
  ['forgets the case', /lower\((property|on\.function\.functionName)\)/, '$1'],
  ['reads too little of a name', /129/, '127'],
  ['allows by default', /default allow := false/, 'default allow := true'],
];

/** All faults of these kinds: each statement of a rule left out, and each change of a line. */
export function faultyPolicies(policy: string): FaultyPolicy[] {
  const lines = policy.split('\n');
  const put = (at: number, ...others: string[]): string => lines.toSpliced(at, 1, ...others).join('\n');
  return lines.flatMap((line, at) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || FOR_SPEED.some((pattern) => pattern.test(text))) return [];
    const isStatement = /^\t+[^\t}]/.test(line) && !/[{([|,]$|^[\])}]/.test(text);
    const changed = CHANGES.flatMap(([what, from, to]) => {
      const other = line.replace(from, to);
      return other === line ? [] : [{ fault: `${what}: ${text}`, text: put(at, other) }];
    });
    return [...(isStatement ? [{ fault: `lacks: ${text}`, text: put(at) }] : []), ...changed];
  });
}
