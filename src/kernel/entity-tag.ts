import { createHash } from 'node:crypto';
import { Refused } from './errors.js';

/** The ETag of a version of a resource. @param content what every change of the resource changes */
export function versionTag(content: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 27)}"`;
}

/** The ETag of an answer: weak, because the body may be compressed. */
export function entityTag(answer: unknown): string {
  return `W/${versionTag(answer)}`;
}

/**
 * Whether `If-Match` or `If-None-Match` names this entity tag (RFC 9110, 13.1.1 and 13.1.2). Ignores `W/`, the mark of weak tags: SCIM's
 * tags are weak (RFC 7644, 3.14), and compressing proxies make other tags weak.
 */
export function matchesEntityTag(header: string | undefined, own: string): boolean {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return (header ?? '').split(',').some((tag) => opaque(tag) === '*' || opaque(tag) === opaque(own));
}

/**
 * @param ifMatch the `If-Match` header; null: any version @param own the tag of the version that is replaced
 * @param what such as *policy* @throws Refused `precondition_failed`, which rolls the transaction back
 */
export function checkVersion(ifMatch: string | null, own: string, what: string): void {
  if (ifMatch === null || matchesEntityTag(ifMatch, own)) return;
  throw new Refused('precondition_failed', { detail: `The ${what} was changed meanwhile. Nothing was written.` });
}
