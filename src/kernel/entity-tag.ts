import { createHash } from 'node:crypto';
import { Refused } from './errors.js';

/** The ETag of a version of a resource. @param content a value that every change of the resource changes */
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
export function matchesEntityTag(header: string | undefined, currentTag: string): boolean {
  const stripWeakMark = (tag: string): string => tag.trim().replace(/^W\//, '');
  return (header ?? '')
    .split(',')
    .some((tag) => stripWeakMark(tag) === '*' || stripWeakMark(tag) === stripWeakMark(currentTag));
}

/**
 * Refuses a change of a resource whose current version is not the one that the client names.
 * @param ifMatch the `If-Match` header; null: any version @param resourceName such as *policy*
 * @throws Refused `precondition_failed`, which rolls the transaction back
 */
export function checkVersion(ifMatch: string | null, currentTag: string, resourceName: string): void {
  if (ifMatch === null || matchesEntityTag(ifMatch, currentTag)) return;
  throw new Refused('precondition_failed', {
    detail: `The ${resourceName} was changed meanwhile. Nothing was written.`,
  });
}
