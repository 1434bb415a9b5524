import { AccessService } from '../grants/access.service.js';
import { explanationForm } from '../grants/domain/explanation-form.js';
import { PublishedRules } from '../grants/domain/admission-ports.js';
import { SnapshotStore } from '../grants/domain/snapshot-store.js';
import { foldedName } from '../kernel/name.js';
import type { Principal } from '../trino-rules/model/principal.js';
import type { Question } from '../trino-rules/model/question.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { UserStore } from '../users/user.store.js';
import { noAccount } from './explain-question.js';
import { remark } from './output.js';
import { withPublishing } from './run-report.js';

/** The answer of `GET /api/admin/access/explain` about a user with this name. */
export function explainFromDatabase(user: string, question: Question): Promise<ReturnType<typeof explanationForm>> {
  return withPublishing('acl explain', async (modules) => {
    const snapshots = modules.get(SnapshotStore);
    const access = new AccessService(
      snapshots,
      modules.get(PublishedRules),
      modules.get(UserStore),
      modules.get(PrincipalNames),
    );
    return explanationForm(await access.explain(principalNamed(await snapshots.read(), user), question), false);
  });
}

/** Names of accounts and engine principals are unique in any case. */
function principalNamed({ users }: Snapshot, name: string): Principal {
  const account = users.find((user) => foldedName(user.name) === foldedName(name));
  if (account !== undefined) return { type: 'user', id: account.id };
  remark(noAccount(name));
  return { type: 'engine', name };
}
