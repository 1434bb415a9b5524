import { Controller, Delete, Injectable, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, userSubject } from '../audit/domain/audit-event.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { nameProblem } from '../kernel/name.js';
import { Transaction } from '../platform/database/transaction.js';
import { AdministratorsOnly, CurrentAuditContext } from '../platform/http/access.js';
import { ApiRoute, NoContent } from '../platform/http/openapi.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import { Evaluator } from '../trino-rules/engine/evaluator.js';
import { UserUniverse } from '../trino-rules/engine/user-universe.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { UserStore } from '../users/user.store.js';
import { PublishedRules, type PublishedVersion } from './domain/admission-ports.js';
import { SnapshotStore } from './domain/snapshot-store.js';

@Injectable()
export class FormerNamesService {
  constructor(
    private readonly users: UserStore,
    private readonly names: PrincipalNames,
    private readonly publishedRules: PublishedRules,
    private readonly snapshots: SnapshotStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
  ) {}

  /**
   * Frees a former name, so that anybody can take it.
   * @throws Refused `not_found`; `name_in_use` where the published rules or an expression of a policy contain the name
   */
  async free(id: number, name: string, context: AuditContext): Promise<void> {
    const account = orNotFound(await this.users.find(id));
    await this.transaction.run(async () => {
      if (nameProblem(name) !== null || !(await this.names.freeFormerName(id, name))) throw new Refused('not_found');
      const nameUse = await this.findUseText(name);
      if (nameUse !== null) throw new Refused('name_in_use', { detail: nameUse });
      await this.audit.record({ event: 'name_freed', ...context, subject: userSubject(account), details: { name } });
    });
  }

  private async findUseText(name: string): Promise<string | null> {
    const publishedVersion = await this.publishedRules.currentVersion();
    if (publishedVersion !== null && userNamesIn(publishedVersion).includes(name))
      return `Version ${publishedVersion.version}, which is published, names ${name}: publish the next one first.`;
    // The name is looked for without case, because an expression may compare it with lower(current_user).
    const nameLiteral = `'${name.replaceAll("'", "''")}'`.toLowerCase();
    const { policies } = await this.snapshots.read();
    const policy = policies.find(
      (policy) => 'expression' in policy && policy.expression.toLowerCase().includes(nameLiteral),
    );
    return policy === undefined ? null : `Policy ${policy.id} (${policy.kind}) names ${name}: change the policy first.`;
  }
}

function userNamesIn({ engine }: PublishedVersion): readonly string[] {
  if (engine instanceof Evaluator) return new UserUniverse([], [engine.rules]).strangers;
  return [...engine.principals.members({ type: 'everyone' }).values()].map(({ name }) => name);
}

@ApiTags('users')
@AdministratorsOnly()
@Controller('api/admin/users/:id/former-names')
export class FormerNamesController {
  constructor(private readonly names: FormerNamesService) {}

  @ApiRoute('freeName', 'Free a name that an account was renamed away from', 'name_in_use')
  @Delete(':name')
  @NoContent(
    'Anybody can have the name now. The audit trail and ended grants stay with the account; views on the engine that the name owns, and older versions of the rules that are restored, follow the name.',
  )
  async free(
    @Param('id', RowIdPipe) id: number,
    @Param('name') name: string,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<void> {
    await this.names.free(id, name, context);
  }
}
