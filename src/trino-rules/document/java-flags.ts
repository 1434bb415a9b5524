import { type JavaFlag, JavaPatternRefused, type PatternSource } from './java-pattern-source.js';

/**
 * Behind `(?`: flags that hold from here on.
 * @param start of the parenthesis
 * @returns whether a group begins, `(?i:…)`; without one they hold to the end of the group around them
 * @throws JavaPatternRefused
 */
export function readFlags(source: PatternSource, start: number): boolean {
  const from = source.at;
  let isOn = true;
  for (let sign = source.peek(); ; sign = source.next()) {
    if (sign === '-' && isOn) isOn = false;
    else if (!isFlag(sign)) break;
    else source.flags = changed(source.flags, sign === 'U' ? ['U', 'u'] : [sign], isOn);
  }
  if (source.has('c') || source.has('U')) source.isOpaque = true;
  const end = source.read();
  const written = `(?${source.written(from, source.at)}`;
  if (end !== 0x29 && end !== 0x3a) throw new JavaPatternRefused(`${written} is no group that Java knows`, start);
  source.differs('refused-by-javascript', written);
  return end === 0x3a;
}

function isFlag(sign: string): sign is JavaFlag {
  return sign !== '' && 'idmsucxU'.includes(sign);
}

function changed(flags: ReadonlySet<JavaFlag>, those: readonly JavaFlag[], isOn: boolean): ReadonlySet<JavaFlag> {
  return isOn ? new Set([...flags, ...those]) : new Set([...flags].filter((flag) => !those.includes(flag)));
}
