/** What tokens, hashes, Authorization values and database addresses look like, whatever they are. */
const FORMS = [
  /eyJ[\w-]{10,}\.[\w-]+\.[\w-]*/, // a JWT
  /\$2[aby]\$\d\d\$[./A-Za-z0-9]{20,}/, // a bcrypt hash
  /\b(Bearer|Basic) [\w.~+/=-]{12,}/i,
  /postgres(ql)?:\/\/[^:@/\s]+:[^@/\s]+@/,
];

/** The lines of a log, or the text of an answer, that hold a secret: of a known form, or one of those that are named. */
export function linesWithSecrets(lines: readonly string[], secrets: readonly string[]): string[] {
  const known = secrets.filter((secret) => secret.length >= 8);
  return lines.filter((line) => FORMS.some((form) => form.test(line)) || known.some((secret) => line.includes(secret)));
}
