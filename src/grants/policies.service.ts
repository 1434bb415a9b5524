import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { checkVersion } from '../kernel/entity-tag.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService, namesOfPolicy } from './admission.service.js';
import { policyEvent } from './domain/audit-details.js';
import { type NewPolicy, type Policy, policyVersion } from './domain/policy.js';
import { PolicyStore } from './policy.store.js';

/** Policies, which restrict access: row filters, column masks, hidden columns, denies. */
@Injectable()
export class PoliciesService {
  constructor(
    private readonly store: PolicyStore,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `validation_failed`, `name_taken`, `mask_conflict`, and as `AdmissionService.admitRules` */
  create(policy: NewPolicy, by: AuditContext): Promise<{ policy: Policy; warnings: string[] }> {
    return this.written(policy, by, 'policy_created', async () => ({
      former: null,
      policy: await this.store.create(policy, this.clock.now()),
    }));
  }

  /**
   * Changes a policy in one step, so that no access is open in between.
   * @param ifMatch the `If-Match` header: versions that may be replaced; null: any
   * @throws Refused as `create`, and `not_found`, `precondition_failed`
   */
  replace(
    id: number,
    policy: NewPolicy,
    by: AuditContext,
    ifMatch: string | null,
  ): Promise<{ policy: Policy; warnings: string[] }> {
    return this.written(policy, by, 'policy_changed', async () => {
      const replaced = orNotFound(await this.store.replace(id, policy, this.clock.now()));
      checkVersion(ifMatch, policyVersion(replaced.former), 'policy');
      return replaced;
    });
  }

  /**
   * @param ifMatch the `If-Match` header: versions that may be deleted; null: any
   * @throws Refused `not_found`, `precondition_failed`, `guarantee_broken`
   */
  async remove(id: number, by: AuditContext, ifMatch: string | null): Promise<void> {
    await this.writes.run(async () => {
      const policy = await this.store.remove(id, this.clock.now());
      if (policy === 'missing') throw new Refused('not_found');
      if (policy === 'gone') return;
      checkVersion(ifMatch, policyVersion(policy), 'policy');
      await this.audit.record(policyEvent('policy_deleted', policy, by));
      await this.admission.admitGuarantees({ nodes: [policy.rule.resource], groups: [] });
    });
  }

  private async written(
    draft: NewPolicy,
    by: AuditContext,
    event: 'policy_created' | 'policy_changed',
    write: () => Promise<{ former: Policy | null; policy: Policy }>,
  ): Promise<{ policy: Policy; warnings: string[] }> {
    const errors = this.admission.nodeErrors([{ field: 'resource', named: draft.rule.resource }]);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const { policy, capacity } = await this.writes.run(async () => {
      await this.admission.admitPrincipals(namesOfPolicy('', draft));
      const { former, policy } = await write();
      if (policy.rule.kind === 'column_mask') await this.admission.admitMask(policy.id, former);
      const nodes = [policy, ...(former ? [former] : [])].map(({ rule }) => rule.resource);
      const capacity = await this.admission.admitRules({ nodes, groups: [] });
      await this.audit.record(policyEvent(event, policy, by));
      return { policy, capacity };
    });
    return { policy, warnings: [...(await this.admission.policyWarnings(policy.rule)), ...capacity] };
  }
}
