/** What a browser says of where a request comes from. */
export interface RequestSource {
  /** `Sec-Fetch-Site` (W3C Fetch Metadata). */
  fetchSite: string | undefined;
  origin: string | undefined;
  referer: string | undefined;
}

/**
 * Whether a page of our own origin made the request. `own`: our origin, for browsers that send no Fetch Metadata, as over plain HTTP to
 * another host than this machine; there a GET has no `Origin`, but a `Referer`.
 */
export function isSameOrigin({ fetchSite, origin, referer }: RequestSource, own: string): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  return (origin ?? originOf(referer)) === own;
}

function originOf(referer: string | undefined): string | null {
  return referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : null;
}

/**
 * Whether a cookie may come along from anywhere: on routes that never read it. Those of the identity provider are reached from
 * its site, the API's description by an address that somebody typed.
 *
 * @param route its pattern, not the path as it was sent, which may spell letters as `%61`; undefined: there is none
 */
export function isOpenToOtherSites(route: string | undefined): boolean {
  return (
    route === undefined ||
    !route.startsWith('/api/') ||
    /^\/api\/(auth\/oidc\/(start|console|callback)|docs(\/.*)?|openapi\.json)$/.test(route)
  );
}
