import { randomBytes } from 'node:crypto';

import { ApiClient, passwordOf, signedUp, signIn } from '../../support/service/api-client.js';
import { editRules, rulesConfigMap, type ConfigMap } from '../running/config-map.js';
import type { Mode } from '../running/engine.js';
import type { Grantline } from '../running/grantline.js';
import { serviceToken } from '../running/identity-provider.js';
import { until } from '../running/until.js';
import { kubectlOf, type Stack } from '../stack.js';
import { untilRulesInForce } from './rules-in-force.js';
import { runStatement, type Answer, type Family } from './statement.js';

export const ADMINISTRATOR = 'ada';

export interface Person {
  id: number;
  client: ApiClient;
}

/** What a person's query came to, seen through Grantline's API. */
export type QueryOutcome =
  | { kind: 'rows'; rows: unknown[][] }
  | { kind: 'failed'; engineErrorName: string | null; message: string };

/** A running Grantline with the real parts, and its users. All actions go through the public API. */
export class Deployment {
  readonly serviceAccount: string;
  /** A schema in the writable catalog that no other deployment uses. */
  readonly schema: string;
  private readonly visitor: ApiClient;
  private readonly people = new Map<string, Person>();

  constructor(
    readonly stack: Stack,
    readonly grantline: Grantline,
    readonly mode: Mode,
    readonly family: Family,
  ) {
    this.serviceAccount = `service-account-${stack.realm.grantline.id}`;
    this.schema = `loop_${randomBytes(4).toString('hex')}`;
    this.visitor = new ApiClient(grantline.url);
  }

  /** Made on the command line, in the pod of the running service, with the password from standard input. */
  async makeAdministrator(): Promise<void> {
    const command = ['users', 'create-admin', '--username', ADMINISTRATOR, '--email', `${ADMINISTRATOR}@example.org`];
    await this.grantline.execute(command, passwordOf(ADMINISTRATOR));
    const { access_token } = await signIn(this.visitor, ADMINISTRATOR);
    await this.enter(ADMINISTRATOR, this.visitor.as(access_token));
  }

  /** Knows a person from here on who has signed in. */
  async enter(name: string, client: ApiClient): Promise<void> {
    this.people.set(name, { id: Number((await client.get('/api/auth/me')).body?.['id']), client });
  }

  get administrator(): ApiClient {
    return this.person(ADMINISTRATOR).client;
  }

  async signUp(name: string): Promise<void> {
    const { id, access_token } = await signedUp(this.visitor, name);
    this.people.set(name, { id, client: this.visitor.as(access_token) });
  }

  person(name: string): Person {
    const person = this.people.get(name);
    if (person === undefined) throw new Error(`there is no user ${name}`);
    return person;
  }

  /** Runs a person's SQL through Grantline, to its end. */
  async query(name: string, sql: string): Promise<QueryOutcome> {
    const { client } = this.person(name);
    const submitted = await client.post('/api/queries', { sql });
    if (submitted.status !== 201) throw new Error(`not submitted: ${JSON.stringify(submitted.body)}`);
    const path = `/api/queries/${String(submitted.body?.['id'])}`;
    const rows: unknown[][] = [];
    for (let next: string | null = ''; next !== null;) {
      const page = await client.get(`${path}/rows${next === '' ? '' : `?after=${encodeURIComponent(next)}`}`);
      if (page.status === 409) return failureIn((await client.get(path)).body);
      if (page.status !== 200) throw new Error(`no page of rows: ${JSON.stringify(page.body)}`);
      const body = page.body as { rows: unknown[][]; next: string | null };
      rows.push(...body.rows);
      next = body.next;
    }
    return { kind: 'rows', rows };
  }

  /** Runs a statement on the engine itself, as the service account or, through it, as a person. */
  async onEngine(sql: string, user = this.serviceAccount): Promise<Answer> {
    const { stack, mode, family, serviceAccount } = this;
    const token = await serviceToken(stack.issuer, stack.realm.grantline);
    return runStatement(stack.engines[mode], { mode, family, user, originalUser: serviceAccount, token }, sql);
  }

  configMap(): Promise<ConfigMap> {
    return rulesConfigMap(kubectlOf(this.stack));
  }

  /** Waits until the service's log holds a line with this message about this version of the rules. */
  async untilLogged(message: string, hash: string, milliseconds = 60_000): Promise<void> {
    await until(`the log has ${message}`, milliseconds, () => {
      const lines = this.grantline.log().split('\n');
      const found = lines.some((line) => line.includes(`"msg":"${message}"`) && line.includes(`"hash":"${hash}"`));
      return Promise.resolve(found ? true : undefined);
    });
  }

  /** Edits the rules in the ConfigMap by hand. */
  editRules(text: string): Promise<void> {
    return editRules(kubectlOf(this.stack), text);
  }

  /** Waits until the engine runs the rules that the ConfigMap holds. */
  async untilLive(): Promise<void> {
    await untilRulesInForce((await this.configMap()).data['rules.json'] ?? '', (sql) => this.onEngine(sql));
  }

  /** Waits until the service reports that the engine uses the last published version. */
  async untilConfirmed(): Promise<void> {
    await until('Grantline knows that its rules are live', 120_000, async () => {
      const { body } = await this.administrator.get('/api/admin/acl/status');
      const { published, live } = body as Record<'published' | 'live', { hash: string } | null>;
      return published !== null && published.hash === live?.hash ? true : undefined;
    });
  }
}

function failureIn(query: unknown): QueryOutcome {
  const { error } = query as { error: { message: string; engine_error_name: string | null } };
  return { kind: 'failed', engineErrorName: error.engine_error_name, message: error.message };
}
