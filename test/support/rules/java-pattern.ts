import { readJavaPattern } from '../../../src/rules-files/java/java-pattern.js';
import type { Pattern } from '../../../src/trino-rules/document/pattern.js';

/** A pattern with the repetitions and sets of any rules file. */
export function javaPattern(text: string): Pattern {
  const reading = readJavaPattern(text);
  if (reading.kind !== 'read' || reading.pattern === null) throw new RangeError(`${text} is not judged`);
  return reading.pattern;
}
