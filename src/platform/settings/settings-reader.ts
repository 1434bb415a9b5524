import { createPrivateKey, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { parseDecimal } from '../../kernel/decimal.js';
import { jsonOrNull } from '../../kernel/json-reader.js';
import { nameProblem } from '../../kernel/name.js';
import { Secret } from '../../kernel/secret.js';

/** The least length of a configured token in characters, equal to that of the signing key. */
const MIN_TOKEN_CHARS = 32;

/** The environment: texts by name. A blank text counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a file; null: it cannot be read. */
export type ReadFile = (path: string) => string | null;

/** A part of the settings. Each command names the parts that it uses. */
export type SettingsPart =
  | 'process'
  | 'database'
  | 'http'
  | 'signing'
  | 'hashing'
  | 'sessions'
  | 'engine'
  | 'rules'
  | 'publishing';

export interface SettingsProblem {
  part: SettingsPart;
  /** A sentence of the setting's name and its problem. */
  text: string;
}

/**
 * Reads texts of the environment into typed values. Collects all problems, so that one start shows them all, and the names of the settings,
 * because a test compares them with `.env.example`.
 */
export class SettingsReader {
  constructor(
    private readonly part: SettingsPart,
    private readonly environment: Environment,
    private readonly readFile: ReadFile,
    readonly problems: SettingsProblem[] = [],
    readonly namesRead = new Set<string>(),
  ) {}

  forPart(part: SettingsPart): SettingsReader {
    return new SettingsReader(part, this.environment, this.readFile, this.problems, this.namesRead);
  }

  text(name: string): string | null {
    this.namesRead.add(name);
    const value = this.environment[name];
    return value === undefined || value.trim() === '' ? null : value;
  }

  /** A secret: the value of `NAME`, or the content of the file that `NAME_FILE` names, without the file's final newline. */
  secret(name: string): string | null {
    const directValue = this.text(name);
    const file = this.text(`${name}_FILE`);
    if (file === null) return directValue;
    if (directValue !== null) {
      this.report(name, `and ${name}_FILE are both set`);
      return directValue;
    }
    const content = this.readFile(file);
    if (content === null) this.report(`${name}_FILE`, 'points at a file that cannot be read');
    return content?.replace(/\r?\n$/, '') ?? null;
  }

  /** One token, or two while one is replaced. A client must present one of them. They may also be in the file that `NAME_FILE` names. */
  tokens(name: string): readonly Secret[] {
    const tokenList = this.secret(name);
    const tokens = tokenList === null ? [] : tokenList.split(',').map((token) => token.trim());
    if (tokens.length > 2) this.report(name, 'must hold one token, or two while one is replaced');
    if (tokens.some((token) => token.length < MIN_TOKEN_CHARS))
      this.report(name, `must have at least ${MIN_TOKEN_CHARS} characters`);
    // Fewer than 10 different characters suggest a placeholder: 32 random bytes in hexadecimal have at least 14.
    if (tokens.some((token) => token.length >= MIN_TOKEN_CHARS && new Set(token).size < 10))
      this.report(name, 'is weak: at least 10 different characters, such as openssl rand -hex 32');
    // Only these characters can be in a bearer token (RFC 6750 section 2.1).
    if (tokens.some((token) => !/^[\w.~+/-]+=*$/.test(token)))
      this.report(name, 'must consist of letters, digits and -._~+/, with = at its end at most');
    return tokens.map((token) => new Secret(token));
  }

  /** The private key in the PEM file that a setting names, for signatures with RS256 or ES256. */
  signingKey(name: string): Secret | null {
    const file = this.text(name);
    if (file === null) return null;
    const content = this.readFile(file);
    if (content === null) this.report(name, 'points at a file that cannot be read');
    else if (!isSigningKey(content))
      this.report(name, 'points at a file that holds no private key in PEM: RSA of 2,048 bits at least, or P-256');
    return content === null ? null : new Secret(content);
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.text(name);
    if (value === null) return fallback;
    if (value === 'true' || value === 'false') return value === 'true';
    this.report(name, 'must be true or false');
    return fallback;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name);
    if (value === null) return fallback;
    const number = parseDecimal(value);
    if (number >= min && number <= max) return number;
    this.report(name, `must be a whole number from ${min} to ${max}`);
    return fallback;
  }

  /** A number between `min` and `max` with at most three decimals. */
  decimal(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name);
    if (value === null) return fallback;
    const number = /^\d{1,9}(\.\d{1,3})?$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    this.report(name, `must be a number from ${min} to ${max}, with three decimals at most`);
    return fallback;
  }

  /** Octal permissions of a file. Its owner must be able to read and write it, and others must not be able to write it. */
  fileMode(name: string, fallback: number): number {
    const value = this.text(name);
    if (value === null) return fallback;
    const mode = /^0?[0-7]{3}$/.test(value) ? parseInt(value, 8) : 0;
    if ((mode & 0o600) === 0o600 && (mode & 0o002) === 0) return mode;
    this.report(name, 'must be octal, such as 0640: readable and writable for its owner, not writable for others');
    return fallback;
  }

  choice<T extends string>(name: string, fallback: T, choices: readonly T[]): T {
    const value = this.text(name);
    if (value === null) return fallback;
    const chosenValue = choices.find((choice) => choice === value);
    if (chosenValue === undefined) this.report(name, `must be one of ${choices.join(', ')}`);
    return chosenValue ?? fallback;
  }

  /** A comma-separated list of some of `choices`, in the order of the setting. */
  choices<T extends string>(name: string, fallback: readonly T[], choices: readonly T[]): readonly T[] {
    const entries = this.list(name);
    const matches = entries.flatMap((each) => choices.filter((choice) => choice === each));
    const repeated = matches.find((each, index) => matches.indexOf(each) !== index);
    if (matches.length !== entries.length) this.report(name, `must be one of ${choices.join(', ')}, or a list of them`);
    if (repeated !== undefined) this.report(name, `names ${repeated} twice`);
    return matches.length === 0 ? fallback : matches;
  }

  /** The value of the JSON file that a setting names; null: it cannot be read, or holds no JSON. */
  json(name: string): unknown {
    const file = this.text(name);
    const content = file && this.readFile(file);
    return content && jsonOrNull(content);
  }

  /** A comma-separated list, without empty entries and blanks around entries. */
  list(name: string): readonly string[] {
    const value = this.text(name) ?? '';
    return value
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
  }

  /** A comma-separated list of origins of web pages. */
  origins(setting: string): readonly string[] {
    const origins = this.list(setting);
    for (const origin of origins) {
      if (URL.canParse(origin) && new URL(origin).origin === origin) continue;
      this.report(setting, `holds ${JSON.stringify(origin)}, which is no origin such as https://app.example.org`);
    }
    return origins;
  }

  /** A comma-separated list of origins and of addresses of pages, which must be in normalized form. */
  originsAndPages(setting: string): readonly string[] {
    const entries = this.list(setting);
    for (const entry of entries) {
      const url = URL.canParse(entry) ? new URL(entry) : null;
      const isWebUrl = url !== null && /^https?:$/.test(url.protocol) && !/[@#*]/.test(entry);
      if (isWebUrl && (url.href === entry || url.origin === entry)) continue;
      this.report(
        setting,
        `holds ${JSON.stringify(entry)}, which is no origin such as https://app.example.org, and no page such as https://app.example.org/signed-in`,
      );
    }
    return entries;
  }

  /** A name on the engine. */
  name(setting: string, problemOf = nameProblem): string | null {
    return this.validName(setting, this.text(setting), problemOf);
  }

  /** A comma-separated list of names on the engine. */
  names(setting: string, problemOf = nameProblem): readonly string[] {
    return this.list(setting).filter((entry) => this.validName(setting, entry, problemOf) !== null);
  }

  private validName(setting: string, name: string | null, problemOf: typeof nameProblem): string | null {
    const problem = name === null ? null : problemOf(name);
    if (problem === null) return name;
    this.report(setting, `holds ${JSON.stringify(name)}, which ${problem}`);
    return null;
  }

  url(name: string, protocols: readonly string[], value = this.text(name)): string | null {
    if (value === null) return null;
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    this.report(name, `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    return null;
  }

  /** A URL to which paths are appended, without final slashes. */
  baseUrl(name: string): string | null {
    return this.url(name, ['http:', 'https:'])?.replace(/\/+$/, '') ?? null;
  }

  /** The path of a PEM file of certificates. @param isEncrypted whether the connection uses TLS; without TLS such a file is a problem */
  certificates(name: string, isEncrypted: boolean): string | null {
    const file = this.text(name);
    if (file === null) return null;
    const content = this.readFile(file);
    if (!isEncrypted) this.report(name, 'is of no use without https');
    else if (content === null) this.report(name, 'points at a file that cannot be read');
    else if (!isCertificate(content)) this.report(name, 'points at a file that holds no certificate in PEM');
    return resolve(file);
  }

  report(name: string, problem: string): void {
    this.problems.push({ part: this.part, text: `${name} ${problem}` });
  }
}

/** Whether a text contains a readable certificate in PEM. Only the first certificate is checked. */
function isCertificate(pem: string): boolean {
  try {
    return pem.includes('-----BEGIN CERTIFICATE-----') && new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** Whether a text is a private key in PEM that can sign bundles. */
export function isSigningKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    if (asymmetricKeyType === 'rsa') return (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
    return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}
