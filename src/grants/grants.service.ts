import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { headerNameWarning } from '../kernel/name.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService, type GrantRequest, namesOfGrant } from './admission.service.js';
import { grantedEvents, revokedEvents } from './domain/audit-details.js';
import type { Grant, GrantOutcome } from './domain/grant.js';
import { GrantStore } from './grant.store.js';

export interface GrantResult extends GrantOutcome {
  /** Sentences on privileges without effect, a user name that cannot run SQL, parts of the node that the engine does not know, and low capacity. */
  warnings: string[];
}

@Injectable()
export class GrantsService {
  constructor(
    private readonly store: GrantStore,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Revokes and grants in one transaction.
   * @throws Refused `validation_failed` with all errors, `name_taken`, `rules_too_large`, `rules_unprovable`
   */
  async change(
    asked: readonly GrantRequest[],
    revoke: readonly number[],
    by: AuditContext,
  ): Promise<{ granted: GrantResult[]; revoked: Grant[] }> {
    const now = this.clock.now();
    const errors = this.admission.grantErrors(asked, now);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const { outcomes, revoked, withoutEffect, capacity } = await this.writes.run(async () => {
      await this.admission.admitPrincipals(asked.flatMap(namesOfGrant));
      // Revoking comes before granting: a grant that is revoked and given again in one request must be a new one.
      const revoked = (await this.revokeGrants(revoke, by, now)).map((grant, i) => {
        if (grant !== null) return grant;
        const errors = [{ field: `revoke.${i}`, message: 'there is no such grant' }];
        throw new Refused('validation_failed', { errors });
      });
      const grants = asked.map(({ grant }) => grant);
      const outcomes = await this.store.grant(grants, by.actor?.id ?? null, now);
      await this.audit.recordAll(grantedEvents(outcomes, by));
      await this.admission.admitActing(asked);
      const withoutEffect = await this.admission.effectWarnings(outcomes.map(({ grant }) => grant));
      const nodes = outcomes.filter(({ created }) => created).map(({ grant }) => grant.resource);
      const touched = {
        nodes,
        groups: [],
        mayJoinEveryone: grants.some(({ principal }) => principal.type === 'engine'),
      };
      const capacity = nodes.length > 0 ? await this.admission.admitRules(touched) : [];
      return { outcomes, revoked, withoutEffect, capacity };
    });
    const unknown = await this.admission.nameWarnings(outcomes.map(({ grant }) => grant.resource));
    const granted = outcomes.map((outcome, i) => ({
      ...outcome,
      warnings: [...holderWarnings(outcome.grant), ...(withoutEffect[i] ?? []), ...(unknown[i] ?? []), ...capacity],
    }));
    return { granted, revoked };
  }

  /** Revokes a grant, unless it was revoked before. Null: there is no such grant. */
  async revoke(id: number, by: AuditContext): Promise<Grant | null> {
    const [grant = null] = await this.writes.run(() => this.revokeGrants([id], by, this.clock.now()));
    return grant;
  }

  private async revokeGrants(ids: readonly number[], by: AuditContext, at: Date): Promise<(Grant | null)[]> {
    const outcomes = await this.store.revoke(ids, by.actor?.id ?? null, at);
    await this.audit.recordAll(revokedEvents(outcomes, by));
    return outcomes.map((outcome) => outcome?.grant ?? null);
  }
}

/** A warning if the user's name cannot be sent in the engine's header. Names of groups are never sent. */
function holderWarnings({ principal }: Grant): string[] {
  const isUser = principal.type === 'user' || principal.type === 'engine';
  return isUser ? [headerNameWarning(principal.name) ?? []].flat() : [];
}
