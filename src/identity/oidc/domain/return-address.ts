/** Characters of an address that people come back to; it travels to the provider and back. */
const LONGEST = 1000;

/**
 * The problem of an address at which a web client takes people back; null: none.
 *
 * @param allowed addresses, which are compared to the letter (RFC 9700 section 4.1.3), and origins, which allow all of theirs
 */
export function returnProblem(address: string, allowed: readonly string[]): string | null {
  if (address.length > LONGEST) return `must have at most ${LONGEST} characters`;
  if (!URL.canParse(address)) return 'must be an address such as https://app.example.org/signed-in';
  const { origin, username, password, hash } = new URL(address);
  if (!allowed.includes(address) && !allowed.includes(origin))
    return 'must be an address of AUTH_OIDC_RETURN_ORIGINS, to the letter, or at one of its origins';
  if (username !== '' || password !== '') return 'must not name a user';
  return hash === '' ? null : 'must have no fragment';
}

/** The address with these parameters, each in the place of one that it had. */
export function addressWith(address: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Where the console's sign-in comes back to, signed in or not: its page shows what failed, or goes on. @param to a path of ours */
export function consoleReturn(publicUrl: string, to: string): string {
  return addressWith(new URL('/sign-in', publicUrl).href, { to });
}

/** The address of a path that `pagePathProblem` takes. */
export function pageAddress(publicUrl: string, path: string): string {
  return new URL(path, publicUrl).href;
}

/** A path with its query as browsers have it, all in ASCII: parsers of addresses drop tabs, and `/<tab>/host` leads to another host. */
export const PAGE_PATH = '^/([!-.0-\\[\\]-~][!-~]*)?$';

const PAGE_PATH_FORM = new RegExp(PAGE_PATH);

export function pagePathProblem(path: string): string | null {
  return path.length <= LONGEST && PAGE_PATH_FORM.test(path) ? null : 'must be a path such as /people/12?tab=groups';
}
