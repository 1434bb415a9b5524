import { createHash } from 'node:crypto';

/** The ETag of an answer: weak, because what is sent may be compressed. */
export function entityTag(answer: unknown): string {
  return `W/"${createHash('sha256').update(JSON.stringify(answer)).digest('base64url').slice(0, 27)}"`;
}

/** Whether If-None-Match names the tag (RFC 9110, 13.1.2), so that 304 is the answer. */
export function isKnownTag(tag: string, ifNoneMatch: string | undefined): boolean {
  const opaque = (each: string): string => each.trim().replace(/^W\//, '');
  return (ifNoneMatch ?? '').split(',').some((each) => each.trim() === '*' || opaque(each) === opaque(tag));
}
