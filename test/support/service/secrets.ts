/** The signing key of every service under test. */
export const TEST_SECRET = 'only-for-tests-0123456789-abcdefghijklmnop';

/** What tokens, hashes, Authorization values and database addresses look like, whatever they are. */
const FORMS = [
  /eyJ[\w-]{10,}\.[\w-]+\.[\w-]*/, // a JWT
  /glt_[0-9A-Za-z]{57}/, // an API token
  /\$2[aby]\$\d\d\$[./A-Za-z0-9]{20,}/, // a bcrypt hash
  /\b(Bearer|Basic) [\w.~+/=-]{12,}/i,
  /\/v1\/statement\/\w+\/\w+\/y\w{20,}/, // a nextUri
  /postgres(ql)?:\/\/[^:@/\s]+:[^@/\s]+@/,
];

/** Members of bodies that hold one. The refresh token and its like are recognized by their form as well. */
const MEMBERS = /password$|_token$|^token$|^sign_out_url$/;

/** Settings that hold one. */
const SETTINGS = /(SECRET|SECRET_KEY)$/;

/** What this spec file has sent or been given as a secret, so that logs, output and answers can be searched for it. */
const used = new Set<string>();

/** Statements of users: their answers may quote them, and no log and no output may. */
const statements = new Set<string>();

/** Of the services and processes of this spec file: everything that they have written, when asked. */
const outputs: { name: string; text: () => string }[] = [];

/** Remembers a secret. */
export function noteSecret(secret: string): void {
  // Searched for in all that is written: a token's form is found without being remembered.
  if (secret.length >= 8 && !FORMS.some((form) => form.test(secret))) used.add(secret);
}

/** Remembers the secrets in a body. */
export function noteSecrets(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  for (const [name, value] of Object.entries(body)) {
    if (MEMBERS.test(name) && typeof value === 'string') noteSecret(value);
  }
}

/** Remembers a user's statement. */
export function noteStatement(sql: string): void {
  if (sql.length >= 8) statements.add(sql);
}

/** Remembers the secrets in the settings of a service, and what it writes from now on. */
export function recordOutput(name: string, environment: Record<string, string>, text: () => string): void {
  for (const [setting, value] of Object.entries(environment)) {
    if (SETTINGS.test(setting)) noteSecret(value);
    if (setting.endsWith('_URL') && URL.canParse(value)) noteSecret(decodeURIComponent(new URL(value).password));
  }
  outputs.push({ name, text });
}

/**
 * The lines of all recorded output that hold a secret or a user's statement, for the runner: after each spec file, whatever its
 * tests look at. What was remembered is forgotten.
 */
export function leaksOfFile(): string[] {
  const hidden = [TEST_SECRET, ...used, ...statements].flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]);
  const leaks = outputs.flatMap(({ name, text }) => {
    const written = text();
    const found = hidden.filter((secret) => written.includes(secret));
    return linesWith(written.split('\n'), found).map((line) => `${name}: ${line}`);
  });
  for (const memory of [used, statements]) memory.clear();
  outputs.length = 0;
  return leaks;
}

/** A body without the members that are there to hand a secret over. */
export function withoutHandedOver(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !MEMBERS.test(name)));
}

/** The lines of a log, or the text of an answer, that hold a secret: of a known form, one that is named, or one that was used. */
export function linesWithSecrets(lines: readonly string[], secrets: readonly string[]): string[] {
  return linesWith(
    lines,
    [...secrets, ...used].filter((secret) => secret.length >= 8),
  );
}

function linesWith(lines: readonly string[], known: readonly string[]): string[] {
  return lines.filter((line) => FORMS.some((form) => form.test(line)) || known.some((secret) => line.includes(secret)));
}
