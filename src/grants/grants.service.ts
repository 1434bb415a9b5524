import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import { headerNameWarning } from '../kernel/name.js';
import type { Page, PageRequest } from '../kernel/page.js';
import { AccessWritesService } from './access-writes.service.js';
import { namedIn, AdmissionService, type GrantRequest } from './admission.service.js';
import { grantedEvents, revokedEvents } from './domain/audit-details.js';
import { type Grant, type GrantFilter, type GrantOutcome, GrantStore, type NewGrant } from './domain/grant.js';

export interface Granted extends GrantOutcome {
  /** Privileges that a restriction takes, a name under which no SQL is run, parts of the node that the engine does not know, and little capacity. */
  warnings: string[];
}

/** Grants: privileges of a principal on a node. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly store: GrantStore,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `validation_failed` with all errors, `name_taken`, `rules_too_large`, `rules_unprovable` */
  async grant(asked: NewGrant, by: AuditContext): Promise<Granted> {
    const { granted } = await this.change([{ fieldPrefix: '', grant: asked }], [], by);
    const [given] = granted;
    if (given === undefined) throw new Error('a grant that was asked for has no outcome');
    return given;
  }

  /**
   * Revokes and grants in one transaction.
   * @throws Refused as `grant` does
   */
  async change(
    asked: readonly GrantRequest[],
    revoke: readonly number[],
    by: AuditContext,
  ): Promise<{ granted: Granted[]; revoked: Grant[] }> {
    const now = this.clock.now();
    this.refuseInvalid(asked, now);
    const { given, taken, room, idle } = await this.writes.run(async () => {
      await this.admission.admitPrincipals(
        asked.flatMap(({ fieldPrefix, grant }) => [
          { field: `${fieldPrefix}principal`, named: grant.principal },
          ...namedIn(fieldPrefix, grant.resource),
        ]),
      );
      // First, so that one that is given again is a new grant and not the revoked one.
      const taken = (await this.revokeGrants(revoke, by, now)).map((grant, i) => {
        if (grant === null) throw validationFailed([{ field: `revoke.${i}`, message: 'there is no such grant' }]);
        return grant;
      });
      const given = await this.createGrants(
        asked.map(({ grant }) => grant),
        by,
        now,
      );
      await this.admission.admitActing(asked);
      const idle = await this.admission.effectWarnings(given.map(({ grant }) => grant));
      return { given, taken, idle, room: await this.admit(given) };
    });
    const unknown = await this.admission.nameWarnings(given.map(({ grant }) => grant.resource));
    const granted = given.map((one, i) => ({
      ...one,
      warnings: [...holderWarnings(one.grant), ...(idle[i] ?? []), ...(unknown[i] ?? []), ...room],
    }));
    return { granted, revoked: taken };
  }

  /** Null: there is no such grant. One that was revoked before is unchanged. */
  async revoke(id: number, by: AuditContext): Promise<Grant | null> {
    const [grant = null] = await this.writes.run(() => this.revokeGrants([id], by, this.clock.now()));
    return grant;
  }

  find(id: number): Promise<Grant | null> {
    return this.store.find(id);
  }

  list(filter: GrantFilter, page: PageRequest): Promise<Page<Grant>> {
    return this.store.list(filter, page, this.clock.now());
  }

  private refuseInvalid(asked: readonly GrantRequest[], now: Date): void {
    const errors = this.admission.grantErrors(asked, now);
    if (errors.length > 0) throw validationFailed(errors);
  }

  /** @returns a warning where the target has little capacity left */
  private async admit(given: readonly GrantOutcome[]): Promise<string[]> {
    const nodes = given.filter(({ created }) => created).map(({ grant }) => grant.resource);
    return nodes.length > 0 ? this.admission.admitRules({ nodes, groups: [] }) : [];
  }

  private async createGrants(asked: readonly NewGrant[], by: AuditContext, at: Date): Promise<GrantOutcome[]> {
    const outcomes = await this.store.grant(asked, by.actor?.id ?? null, at);
    await this.audit.recordAll(grantedEvents(outcomes, by));
    return outcomes;
  }

  private async revokeGrants(ids: readonly number[], by: AuditContext, at: Date): Promise<(Grant | null)[]> {
    const outcomes = await this.store.revoke(ids, by.actor?.id ?? null, at);
    await this.audit.recordAll(revokedEvents(outcomes, by));
    return outcomes.map((outcome) => outcome?.grant ?? null);
  }
}

function validationFailed(errors: FieldError[]): Refused {
  return new Refused('validation_failed', { errors });
}

/** Groups are named in no header. */
function holderWarnings({ principal }: Grant): string[] {
  const isUser = principal.type === 'user' || principal.type === 'engine';
  return isUser ? [headerNameWarning(principal.name) ?? []].flat() : [];
}
