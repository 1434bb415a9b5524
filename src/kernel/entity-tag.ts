import { createHash } from 'node:crypto';

/** The ETag of an answer: weak, because what is sent may be compressed. */
export function entityTag(answer: unknown): string {
  return `W/"${createHash('sha256').update(JSON.stringify(answer)).digest('base64url').slice(0, 27)}"`;
}

/**
 * Whether `If-Match` or `If-None-Match` names this entity tag (RFC 9110 sections 13.1.1 and 13.1.2). Weak tags are compared without
 * their mark: those of SCIM are weak (RFC 7644 section 3.14), and a proxy that compresses answers weakens others.
 */
export function matchesEntityTag(header: string | undefined, own: string): boolean {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return (header ?? '').split(',').some((tag) => opaque(tag) === '*' || opaque(tag) === opaque(own));
}
