import type { explanationForm } from '../grants/domain/explanation-form.js';
import { foldedName } from '../kernel/name.js';
import { PRIVILEGE_TERMS, PRIVILEGES } from '../trino-rules/model/privilege.js';
import { noAccount, type QuestionOptions } from './explain-question.js';
import { remark } from './output.js';
import type { RemoteService } from './remote-service.js';

/** The answer of `GET /api/admin/access/explain`, which explains the privileges of grants. */
export async function explainRemotely(
  service: RemoteService,
  { user, privilege: text, catalog, schema, table, column, routine, as, of }: QuestionOptions,
): Promise<ReturnType<typeof explanationForm>> {
  const privilege = PRIVILEGES.find((one) => one === text.toUpperCase());
  const isOfEngine = privilege !== undefined && PRIVILEGE_TERMS[privilege].family === 'engine';
  const query = {
    principal: await principalNamed(service, user),
    privilege: text.toUpperCase(),
    ...{ catalog, schema, table, column, routine },
    ...(as !== undefined && { as: await principalNamed(service, as) }),
    ...(isOfEngine && (of === undefined ? { engine: 'true' } : { queries: await principalNamed(service, of) })),
  };
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return service.get('/api/admin/access/explain', Object.fromEntries(given));
}

interface UserPage {
  items: { id: number; username: string }[];
  next: string | null;
}

/** `user:12`; where no account has the name, in any case, `engine:NAME`. */
async function principalNamed(service: RemoteService, name: string, after: string | null = null): Promise<string> {
  const query = { q: name, limit: '200', ...(after !== null && { after }) };
  const { items, next } = await service.get<UserPage>('/api/admin/users', query);
  const account = items.find(({ username }) => foldedName(username) === foldedName(name));
  if (account !== undefined) return `user:${account.id}`;
  if (next !== null) return principalNamed(service, name, next);
  remark(noAccount(name));
  return `engine:${name}`;
}
