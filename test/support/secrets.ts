/** The signing key of every service under test. */
export const TEST_SECRET = 'only-for-tests-0123456789-abcdefghijklmnop';

/** What tokens, hashes, Authorization values and database addresses look like, whatever they are. */
const FORMS = [
  /eyJ[\w-]{10,}\.[\w-]+\.[\w-]*/, // a JWT
  /\$2[aby]\$\d\d\$[./A-Za-z0-9]{20,}/, // a bcrypt hash
  /\b(Bearer|Basic) [\w.~+/=-]{12,}/i,
  /postgres(ql)?:\/\/[^:@/\s]+:[^@/\s]+@/,
];

/** Members of bodies that hold one. The refresh token and its like are recognized by their form as well. */
const MEMBERS = /password$|_token$/;

/** What this run has sent or been given as a secret, so that its logs and its answers can be searched for it. */
const used = new Set<string>();

/** Remembers the secrets in a body. */
export function noteSecrets(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  for (const [name, value] of Object.entries(body)) {
    if (MEMBERS.test(name) && typeof value === 'string') used.add(value);
  }
}

/** A body without the members that are there to hand a secret over. */
export function withoutHandedOver(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !MEMBERS.test(name)));
}

/** The lines of a log, or the text of an answer, that hold a secret: of a known form, one that is named, or one that was used. */
export function linesWithSecrets(lines: readonly string[], secrets: readonly string[]): string[] {
  const known = [...secrets, ...used].filter((secret) => secret.length >= 8);
  return lines.filter((line) => FORMS.some((form) => form.test(line)) || known.some((secret) => line.includes(secret)));
}
