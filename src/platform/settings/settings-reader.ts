import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { parseDecimal } from '../../kernel/decimal.js';
import { nameProblem } from '../../kernel/name.js';

/** The environment: texts by name. A blank text counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a file; null: it cannot be read. */
export type ReadFile = (path: string) => string | null;

/** A part of the settings. Each command names the parts that it uses. */
export type Part =
  | 'process'
  | 'database'
  | 'http'
  | 'signing'
  | 'hashing'
  | 'sessions'
  | 'engine'
  | 'rules'
  | 'publishing';

export interface Problem {
  part: Part;
  /** The setting's name and its problem. */
  text: string;
}

/**
 * Reads named texts into typed values and collects all problems, so that one start shows them all. Also collects the names of the settings,
 * which a test compares with `.env.example`.
 */
export class SettingsReader {
  constructor(
    private readonly part: Part,
    private readonly environment: Environment,
    private readonly readFile: ReadFile,
    readonly problems: Problem[] = [],
    readonly asked = new Set<string>(),
  ) {}

  /** A reader of another part of the same environment, which collects problems and names in the same lists. */
  forPart(part: Part): SettingsReader {
    return new SettingsReader(part, this.environment, this.readFile, this.problems, this.asked);
  }

  text(name: string): string | null {
    this.asked.add(name);
    const value = this.environment[name];
    return value === undefined || value.trim() === '' ? null : value;
  }

  /** A value that may also be in the file that `NAME_FILE` names, without the file's final newline. */
  secret(name: string): string | null {
    const given = this.text(name);
    const file = this.text(`${name}_FILE`);
    if (file === null) return given;
    if (given !== null) {
      this.report(name, `and ${name}_FILE are both set`);
      return given;
    }
    const content = this.readFile(file);
    if (content === null) this.report(`${name}_FILE`, 'points at a file that cannot be read');
    return content?.replace(/\r?\n$/, '') ?? null;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.text(name);
    if (value === null) return fallback;
    if (value === 'true' || value === 'false') return value === 'true';
    this.report(name, 'must be true or false');
    return fallback;
  }

  integer(name: string, fallback: number, least: number, most: number): number {
    const value = this.text(name);
    if (value === null) return fallback;
    const number = parseDecimal(value);
    if (number >= least && number <= most) return number;
    this.report(name, `must be a whole number from ${least} to ${most}`);
    return fallback;
  }

  /** Octal permissions of a file that its owner can read and write and others cannot write. */
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
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) this.report(name, `must be one of ${choices.join(', ')}`);
    return chosen ?? fallback;
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

  /** A comma-separated list of origins, and of addresses of single pages in normalized form. */
  originsAndPages(setting: string): readonly string[] {
    const entries = this.list(setting);
    for (const entry of entries) {
      const url = URL.canParse(entry) ? new URL(entry) : null;
      const isWeb = url !== null && /^https?:$/.test(url.protocol) && !/[@#*]/.test(entry);
      if (isWeb && (url.href === entry || url.origin === entry)) continue;
      this.report(
        setting,
        `holds ${JSON.stringify(entry)}, which is no origin such as https://app.example.org, and no page such as https://app.example.org/signed-in`,
      );
    }
    return entries;
  }

  /** A name on the engine. */
  name(setting: string, problemOf = nameProblem): string | null {
    return this.checkedName(setting, this.text(setting), problemOf);
  }

  /** A comma-separated list of names on the engine. */
  names(setting: string, problemOf = nameProblem): readonly string[] {
    return this.list(setting).filter((entry) => this.checkedName(setting, entry, problemOf) !== null);
  }

  private checkedName(setting: string, name: string | null, problemOf: typeof nameProblem): string | null {
    const problem = name === null ? null : problemOf(name);
    if (problem === null) return name;
    this.report(setting, `holds ${JSON.stringify(name)}, which ${problem}`);
    return null;
  }

  url(name: string, protocols: readonly string[], value = this.text(name)): string | null {
    if (value === null) return null;
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value.replace(/\/+$/, '');
    this.report(name, `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    return null;
  }

  /** The path of a PEM file of certificates. @param encrypted whether the connection that uses them is encrypted */
  certificates(name: string, encrypted: boolean): string | null {
    const file = this.text(name);
    if (file === null) return null;
    const content = this.readFile(file);
    if (!encrypted) this.report(name, 'is of no use without https');
    else if (content === null) this.report(name, 'points at a file that cannot be read');
    else if (!isCertificate(content)) this.report(name, 'points at a file that holds no certificate in PEM');
    return resolve(file);
  }

  report(name: string, what: string): void {
    this.problems.push({ part: this.part, text: `${name} ${what}` });
  }
}

/** Whether a text begins with a readable certificate. Only the first of several is checked. */
function isCertificate(pem: string): boolean {
  try {
    return pem.includes('-----BEGIN CERTIFICATE-----') && new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
