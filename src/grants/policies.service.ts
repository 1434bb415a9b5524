import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { checkVersion } from '../kernel/entity-tag.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService, principalsOfPolicy } from './admission.service.js';
import { policyEvent } from './domain/audit-details.js';
import { type NewPolicy, type Policy, policyVersion } from './domain/policy.js';
import { PolicyStore } from './policy.store.js';

@Injectable()
export class PoliciesService {
  constructor(
    private readonly store: PolicyStore,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
    private readonly accessWrites: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `validation_failed`, `name_taken`, `mask_conflict`, and the refusals of `AdmissionService.admitRules` */
  create(policy: NewPolicy, context: AuditContext): Promise<{ policy: Policy; warnings: string[] }> {
    return this.writeChecked(policy, context, 'policy_created', async () => ({
      formerPolicy: null,
      policy: await this.store.create(policy, this.clock.now()),
    }));
  }

  /**
   * Replaces a policy in one step: at every moment either the old or the new policy applies.
   * @param ifMatch the `If-Match` header: versions that may be replaced; null: any
   * @throws Refused as `create`, and `not_found`, `precondition_failed`
   */
  replace(
    id: number,
    policy: NewPolicy,
    context: AuditContext,
    ifMatch: string | null,
  ): Promise<{ policy: Policy; warnings: string[] }> {
    return this.writeChecked(policy, context, 'policy_changed', async () => {
      const replacement = orNotFound(await this.store.replace(id, policy, this.clock.now()));
      checkVersion(ifMatch, policyVersion(replacement.formerPolicy), 'policy');
      return replacement;
    });
  }

  /**
   * @param ifMatch the `If-Match` header: versions that may be deleted; null: any
   * @throws Refused `not_found`, `precondition_failed`, `guarantee_broken`
   */
  async remove(id: number, context: AuditContext, ifMatch: string | null): Promise<void> {
    await this.accessWrites.run(async () => {
      const policy = await this.store.remove(id, this.clock.now());
      if (policy === 'missing') throw new Refused('not_found');
      if (policy === 'gone') return;
      checkVersion(ifMatch, policyVersion(policy), 'policy');
      await this.audit.record(policyEvent('policy_deleted', policy, context));
      await this.admission.admitGuarantees({ nodes: [policy.rule.resource], groups: [] });
    });
  }

  private async writeChecked(
    draft: NewPolicy,
    context: AuditContext,
    event: 'policy_created' | 'policy_changed',
    writePolicy: () => Promise<{ formerPolicy: Policy | null; policy: Policy }>,
  ): Promise<{ policy: Policy; warnings: string[] }> {
    const errors = this.admission.nodeErrors([{ field: 'resource', value: draft.rule.resource }]);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const { policy, capacity: capacityWarnings } = await this.accessWrites.run(async () => {
      await this.admission.admitPrincipals(principalsOfPolicy('', draft));
      const { formerPolicy, policy } = await writePolicy();
      if (policy.rule.kind === 'column_mask') await this.admission.admitMask(policy.id, formerPolicy);
      const nodes = [policy, ...(formerPolicy ? [formerPolicy] : [])].map(({ rule }) => rule.resource);
      const capacityWarnings = await this.admission.admitRules({ nodes, groups: [] });
      await this.audit.record(policyEvent(event, policy, context));
      return { policy, capacity: capacityWarnings };
    });
    return { policy, warnings: [...(await this.admission.policyWarnings(policy.rule)), ...capacityWarnings] };
  }
}
