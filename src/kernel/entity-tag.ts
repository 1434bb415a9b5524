/**
 * Whether `If-Match` admits a resource with this entity tag (RFC 9110 section 13.1.1). Weak tags are compared without their mark:
 * those of SCIM are weak (RFC 7644 section 3.14), and a proxy that compresses answers weakens others.
 */
export function matchesEntityTag(ifMatch: string, entityTag: string): boolean {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifMatch.split(',').some((tag) => opaque(tag) === '*' || opaque(tag) === opaque(entityTag));
}
