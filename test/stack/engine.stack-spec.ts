import { runStatement, FAMILIES, type Asker } from './loop/statement.js';
import { emptyRules, rulesConfigMap } from './running/config-map.js';
import { MODES } from './running/engine.js';
import { serviceToken } from './running/identity-provider.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const SERVICE_ACCOUNT = `service-account-${stack.realm.grantline.id}`;
const WHO_AM_I = 'SELECT current_user';
const EVERYBODY_MAY_ASK = JSON.stringify({ queries: [{ allow: ['execute'] }] });

describe.each(MODES)('the engine, %s', (mode) => {
  const engine = stack.engines[mode];

  // Rules that another spec has left let the service account ask as well, so a changed answer shows which rules are in force.
  beforeAll(async () => {
    const token = await serviceToken(stack.issuer, stack.realm.grantline);
    const asker: Asker = { mode, family: 'X-Trino', user: SERVICE_ACCOUNT, token };
    const answers = (kind: 'rows' | 'failed') =>
      until(`the engine's answer is "${kind}"`, 30_000, async () =>
        (await runStatement(engine, asker, WHO_AM_I)).kind === kind ? true : undefined,
      );
    await emptyRules(kubectlOf(stack));
    await answers('failed');
    await publishByHand(EVERYBODY_MAY_ASK);
    await answers('rows');
  });
  afterAll(() => emptyRules(kubectlOf(stack)));

  it.each(FAMILIES)('knows its user from %s headers', async (family) => {
    const token = await serviceToken(stack.issuer, stack.realm.grantline);
    const answer = await runStatement(engine, { mode, family, user: SERVICE_ACCOUNT, token }, WHO_AM_I);
    expect(answer).toEqual({ kind: 'rows', rows: [[SERVICE_ACCOUNT]] });
  });

  // Plain HTTP is believed where `allow-insecure-over-http` is on: then only the network keeps people out.
  it.each(FAMILIES)('believes a bare name in %s headers only where it is insecure', async (family) => {
    const answer = await runStatement(engine, { mode, family, user: 'ana' }, WHO_AM_I);
    const believed = { kind: 'rows', rows: [['ana']] };
    expect(answer).toMatchObject(mode === 'insecure' ? believed : { kind: 'http', status: 401 });
  });

  it.each(FAMILIES)('refuses impersonation without a rule, by %s headers', async (family) => {
    const token = await serviceToken(stack.issuer, stack.realm.grantline);
    const asker: Asker = { mode, family, user: 'ana', originalUser: SERVICE_ACCOUNT, token };
    expect(await runStatement(engine, asker, WHO_AM_I)).toMatchObject({
      kind: 'failed',
      errorName: 'PERMISSION_DENIED',
      message: `Access Denied: User ${SERVICE_ACCOUNT} cannot impersonate user ana`,
    });
  });
});

describe.each(FAMILIES)('a verified engine, asked with %s headers', (family) => {
  const ask = (token?: string) =>
    runStatement(
      stack.engines.verified,
      { mode: 'verified', family, user: SERVICE_ACCOUNT, ...(token === undefined ? {} : { token }) },
      WHO_AM_I,
    );

  it('refuses a request without a token', async () => {
    const answer = await ask();
    expect(answer).toMatchObject({ kind: 'http', status: 401 });
    expect(answer).toHaveProperty('authenticate', 'Bearer realm="Trino", token_type="JWT"');
  });

  it('refuses an expired token', async () => {
    const token = await serviceToken(stack.issuer, stack.realm.shortLived);
    const refusal = await until('the token of one second has expired', 30_000, async () => {
      const answer = await ask(token);
      return answer.kind === 'http' ? answer : undefined;
    });
    expect(refusal.status).toBe(401);
    expect(refusal.text).toContain('JWT expired');
  });

  it('refuses a token that the realm gave for something else', async () => {
    const answer = await ask(await serviceToken(stack.issuer, stack.realm.otherTool));
    expect(answer).toMatchObject({
      kind: 'http',
      status: 401,
      text: 'Invalid Audience: [account]. Allowed audiences: trino',
    });
  });

  it('refuses a changed token', async () => {
    const token = await serviceToken(stack.issuer, stack.realm.grantline);
    const [header, , signature] = token.split('.');
    const payload = Buffer.from(JSON.stringify({ preferred_username: 'ana' })).toString('base64url');
    expect(await ask([header, payload, signature].join('.'))).toMatchObject({ kind: 'http', status: 401 });
  });
});

async function publishByHand(rules: string): Promise<void> {
  const patch = JSON.stringify({ data: { 'rules.json': rules } });
  await kubectlOf(stack)(
    'patch',
    'configmap',
    'trino-access-control',
    '--namespace=engine',
    '--type=merge',
    `--patch=${patch}`,
  );
  expect((await rulesConfigMap(kubectlOf(stack))).data['rules.json']).toBe(rules);
}
