import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { headerNameWarning } from '../kernel/name.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService, type GrantRequest, principalsOfGrant } from './admission.service.js';
import { creationEvents, revocationEvents } from './domain/audit-details.js';
import type { Grant, GrantOutcome } from './domain/grant.js';
import { GrantStore } from './grant.store.js';

export interface GrantResult extends GrantOutcome {
  /** For example, that a policy takes a granted privilege away, or that the engine does not know a name. */
  warnings: string[];
}

@Injectable()
export class GrantsService {
  constructor(
    private readonly store: GrantStore,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
    private readonly accessWrites: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Revokes and grants in one transaction.
   * @throws Refused `validation_failed` with all errors, `name_taken`, `rules_too_large`, `rules_unprovable`
   */
  async change(
    requests: readonly GrantRequest[],
    revokedIds: readonly number[],
    context: AuditContext,
  ): Promise<{ grantResults: GrantResult[]; revokedGrants: Grant[] }> {
    const now = this.clock.now();
    const errors = this.admission.grantErrors(requests, now);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const { outcomes, revokedGrants, effectWarnings, capacityWarnings } = await this.accessWrites.run(async () => {
      await this.admission.admitPrincipals(requests.flatMap(principalsOfGrant));
      // Revokes before it grants, so that a request that revokes a grant and gives the same one again gets a new grant.
      const revokedGrants = (await this.revokeGrants(revokedIds, context, now)).map((grant, i) => {
        if (grant !== null) return grant;
        const errors = [{ field: `revoke.${i}`, message: 'there is no such grant' }];
        throw new Refused('validation_failed', { errors });
      });
      const grants = requests.map(({ grant }) => grant);
      const outcomes = await this.store.grant(grants, context.actor?.id ?? null, now);
      await this.audit.recordAll(creationEvents(outcomes, context));
      await this.admission.admitImpersonation(requests);
      const effectWarnings = await this.admission.effectWarnings(outcomes.map(({ grant }) => grant));
      const nodes = outcomes.filter(({ isNew }) => isNew).map(({ grant }) => grant.resource);
      const mayJoinEveryone = grants.some(({ principal }) => principal.type === 'engine');
      const capacityWarnings =
        nodes.length > 0 ? await this.admission.admitRules({ nodes, groups: [], mayJoinEveryone }) : [];
      return { outcomes, revokedGrants, effectWarnings, capacityWarnings };
    });
    const nameWarnings = await this.admission.nameWarnings(outcomes.map(({ grant }) => grant.resource));
    const grantResults = outcomes.map((outcome, i) => ({
      ...outcome,
      warnings: [
        holderWarnings(outcome.grant),
        effectWarnings[i] ?? [],
        nameWarnings[i] ?? [],
        capacityWarnings,
      ].flat(),
    }));
    return { grantResults, revokedGrants };
  }

  async revoke(id: number, context: AuditContext): Promise<Grant | null> {
    const [grant = null] = await this.accessWrites.run(() => this.revokeGrants([id], context, this.clock.now()));
    return grant;
  }

  private async revokeGrants(ids: readonly number[], context: AuditContext, now: Date): Promise<(Grant | null)[]> {
    const outcomes = await this.store.revoke(ids, context.actor?.id ?? null, now);
    await this.audit.recordAll(revocationEvents(outcomes, context));
    return outcomes.map((outcome) => outcome?.grant ?? null);
  }
}

/** A warning if the grant is to a user whose name cannot be sent to the engine in a header. Names of groups are never sent. */
function holderWarnings({ principal }: Grant): string[] {
  const isUser = principal.type === 'user' || principal.type === 'engine';
  return isUser ? [headerNameWarning(principal.name) ?? []].flat() : [];
}
