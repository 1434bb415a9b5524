import { createHash } from 'node:crypto';

/** The ETag of an answer: weak, because the body may be compressed. */
export function entityTag(answer: unknown): string {
  return `W/"${createHash('sha256').update(JSON.stringify(answer)).digest('base64url').slice(0, 27)}"`;
}

/**
 * Whether `If-Match` or `If-None-Match` names this entity tag (RFC 9110, 13.1.1 and 13.1.2). Ignores `W/`, the mark of weak tags: SCIM's
 * tags are weak (RFC 7644, 3.14), and compressing proxies make other tags weak.
 */
export function matchesEntityTag(header: string | undefined, own: string): boolean {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return (header ?? '').split(',').some((tag) => opaque(tag) === '*' || opaque(tag) === opaque(own));
}
