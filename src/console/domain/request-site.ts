/** What a browser says of where a request comes from. */
export interface RequestSource {
  /** `Sec-Fetch-Site` (W3C Fetch Metadata). */
  fetchSite: string | undefined;
  origin: string | undefined;
}

/** Whether a page of our own origin made the request. `own`: our origin, for browsers that send no Fetch Metadata. */
export function isSameOrigin({ fetchSite, origin }: RequestSource, own: string): boolean {
  return fetchSite === undefined ? origin === own : fetchSite === 'same-origin';
}

/**
 * Whether a cookie may come along from anywhere: routes that never read it. Those of the identity provider are reached from
 * its site, the API's description by an address that somebody typed.
 */
export function isOpenToOtherSites(path: string): boolean {
  return (
    !path.startsWith('/api/') || /^\/api\/(auth\/oidc\/(start|console|callback)|docs(\/.*)?|openapi\.json)$/.test(path)
  );
}
