import type { PlacedFinding } from '../../rules-files/check/placed-finding.js';

/** Capacity of a ConfigMap: the values of `data` and `binaryData` together. */
const LIMIT = 1_048_576;
const NEARLY = 0.6;

/** @param holder a file of rules alone may be meant for something larger than a ConfigMap */
export function sizeFindings(bytes: number, holder: 'config-map' | 'file', at: number): PlacedFinding[] {
  if (bytes <= NEARLY * LIMIT) return [];
  const share = `${grouped(bytes)} bytes, ${Math.floor((100 * bytes) / LIMIT)} % of the ${grouped(LIMIT)} that a ConfigMap holds`;
  if (holder === 'file') return [{ code: 'file-size', message: `the rules take ${share}`, at }];
  const isOver = bytes > LIMIT;
  const message = `the values take ${share}${isOver ? ': the API server refuses it' : ''}`;
  return [{ code: isOver ? 'too-large' : 'nearly-too-large', message, at }];
}

/** `1,048,576`; the built-in formatter takes a tenth of a second to load. */
function grouped(number: number): string {
  return String(number).replace(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
}
