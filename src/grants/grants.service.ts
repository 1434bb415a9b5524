import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import type { Page, PageRequest } from '../kernel/page.js';
import { Transaction } from '../platform/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AdmissionService, type GrantRequest } from './admission.service.js';
import { grantEvent } from './domain/audit-details.js';
import { type Grant, type GrantFilter, GrantStore, type NewGrant } from './domain/grant.js';

export interface Granted {
  grant: Grant;
  /** False: an equal live grant existed. */
  created: boolean;
  /** Parts of the node that the engine does not know, and little capacity. */
  warnings: string[];
}

/** Grants: privileges of a principal on a node. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly store: GrantStore,
    private readonly admission: AdmissionService,
    private readonly changes: AccessChangesService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
  ) {}

  /** @throws Refused `validation_failed` with all errors, `name_taken`, `rules_too_large`, `rules_unprovable` */
  async grant(asked: NewGrant, by: AuditContext): Promise<Granted> {
    const now = this.clock.now();
    this.refuseInvalid([{ fieldPrefix: '', grant: asked }], now);
    const { given, room } = await this.transaction.run(async () => {
      await this.admission.admitPrincipals([{ field: 'principal', named: asked.principal }]);
      const given = await this.createGrant(asked, by, now);
      return { given, room: await this.admit([given]) };
    });
    this.changes.announce();
    const unknown = await this.admission.nameWarnings([given.grant.resource]);
    return { ...given, warnings: [...unknown.flat(), ...room] };
  }

  /**
   * Grants and revokes in one transaction.
   * @throws Refused as `grant` does
   */
  async change(
    asked: readonly GrantRequest[],
    revoke: readonly number[],
    by: AuditContext,
  ): Promise<{ granted: Granted[]; revoked: Grant[] }> {
    const now = this.clock.now();
    this.refuseInvalid(asked, now);
    const { given, taken, room } = await this.transaction.run(async () => {
      await this.admission.admitPrincipals(
        asked.map(({ fieldPrefix, grant }) => ({ field: `${fieldPrefix}principal`, named: grant.principal })),
      );
      const given: { grant: Grant; created: boolean }[] = [];
      for (const { grant } of asked) given.push(await this.createGrant(grant, by, now));
      const taken: Grant[] = [];
      for (const [i, id] of revoke.entries()) {
        const grant = await this.revokeGrant(id, by, now);
        if (grant === null) throw validationFailed([{ field: `revoke.${i}`, message: 'there is no such grant' }]);
        taken.push(grant);
      }
      return { given, taken, room: await this.admit(given) };
    });
    this.changes.announce();
    const unknown = await this.admission.nameWarnings(given.map(({ grant }) => grant.resource));
    const granted = given.map((one, i) => ({ ...one, warnings: [...(unknown[i] ?? []), ...room] }));
    return { granted, revoked: taken };
  }

  /** Null: there is no such grant. One that was revoked before is unchanged. */
  async revoke(id: number, by: AuditContext): Promise<Grant | null> {
    const grant = await this.transaction.run(() => this.revokeGrant(id, by, this.clock.now()));
    this.changes.announce();
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
  private async admit(given: readonly { grant: Grant; created: boolean }[]): Promise<string[]> {
    const nodes = given.filter(({ created }) => created).map(({ grant }) => grant.resource);
    return nodes.length > 0 ? this.admission.admitRules({ nodes, groups: [] }) : [];
  }

  private async createGrant(asked: NewGrant, by: AuditContext, at: Date): Promise<{ grant: Grant; created: boolean }> {
    const outcome = await this.store.grant(asked, by.actor?.id ?? null, at);
    if (outcome.created) await this.audit.record(grantEvent('grant_created', outcome.grant, by));
    return outcome;
  }

  private async revokeGrant(id: number, by: AuditContext, at: Date): Promise<Grant | null> {
    const outcome = await this.store.revoke(id, by.actor?.id ?? null, at);
    if (outcome?.revoked === true) await this.audit.record(grantEvent('grant_revoked', outcome.grant, by));
    return outcome?.grant ?? null;
  }
}

function validationFailed(errors: FieldError[]): Refused {
  return new Refused('validation_failed', { errors });
}
