import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { Clock } from '../kernel/clock.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import type { Page, PageRequest } from '../kernel/page.js';
import { Transaction } from '../platform/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AdmissionService } from './admission.service.js';
import type { AuditContext } from './domain/audit-context.js';
import { grantDetails } from './domain/audit-details.js';
import { type Grant, type GrantFilter, GrantStore, type NewGrant } from './domain/grant.js';

export interface Granted {
  grant: Grant;
  /** False: an equal grant lived already. */
  created: boolean;
  /** What the engine does not know of the node. */
  warnings: string[];
}

/** A grant that a body asks for; `at` is where it stands there, with a final dot, or empty. */
export interface Asked {
  at: string;
  grant: NewGrant;
}

/** Giving and taking: who may do what on which node. */
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

  /** @throws Refused `validation_failed` with everything that is wrong, `name_taken`, `rules_too_large`, `rules_unprovable` */
  async grant(asked: NewGrant, by: AuditContext): Promise<Granted> {
    const now = this.clock.now();
    this.refuseWrong([{ at: '', grant: asked }], now);
    const { given, room } = await this.transaction.run(async () => {
      await this.admission.admitPrincipals([{ field: 'principal', named: asked.principal }]);
      const given = await this.give(asked, by, now);
      return { given, room: await this.admit([given]) };
    });
    this.changes.announce();
    const unknown = await this.admission.nameWarnings([given.grant.resource]);
    return { ...given, warnings: [...unknown.flat(), ...room] };
  }

  /**
   * Gives and takes, all of it or nothing.
   * @throws Refused as `grant` does
   */
  async change(
    asked: readonly Asked[],
    revoke: readonly number[],
    by: AuditContext,
  ): Promise<{ granted: Granted[]; revoked: Grant[] }> {
    const now = this.clock.now();
    this.refuseWrong(asked, now);
    const { given, taken, room } = await this.transaction.run(async () => {
      await this.admission.admitPrincipals(
        asked.map(({ at, grant }) => ({ field: `${at}principal`, named: grant.principal })),
      );
      const given: { grant: Grant; created: boolean }[] = [];
      for (const { grant } of asked) given.push(await this.give(grant, by, now));
      const taken: Grant[] = [];
      for (const [i, id] of revoke.entries()) {
        const grant = await this.take(id, by, now);
        if (grant === null) throw wrong([{ field: `revoke.${i}`, message: 'there is no such grant' }]);
        taken.push(grant);
      }
      return { given, taken, room: await this.admit(given) };
    });
    this.changes.announce();
    const unknown = await this.admission.nameWarnings(given.map(({ grant }) => grant.resource));
    const granted = given.map((one, i) => ({ ...one, warnings: [...(unknown[i] ?? []), ...room] }));
    return { granted, revoked: taken };
  }

  /** Null: there is no such grant. One that was revoked before stays as it was. */
  async revoke(id: number, by: AuditContext): Promise<Grant | null> {
    const grant = await this.transaction.run(() => this.take(id, by, this.clock.now()));
    this.changes.announce();
    return grant;
  }

  find(id: number): Promise<Grant | null> {
    return this.store.find(id);
  }

  list(filter: GrantFilter, page: PageRequest): Promise<Page<Grant>> {
    return this.store.list(filter, page, this.clock.now());
  }

  private refuseWrong(asked: readonly Asked[], now: Date): void {
    const nodes = asked.map(({ at, grant }) => ({ field: `${at}resource`, named: grant.resource }));
    const past = asked.flatMap(({ at, grant }): FieldError[] =>
      grant.expiresAt !== null && grant.expiresAt <= now
        ? [{ field: `${at}expires_at`, message: 'must be in the future' }]
        : [],
    );
    const errors = [...this.admission.nodeErrors(nodes), ...past];
    if (errors.length > 0) throw wrong(errors);
  }

  /** @returns how little room is left in the target, where it is little */
  private async admit(given: readonly { grant: Grant; created: boolean }[]): Promise<string[]> {
    const nodes = given.filter(({ created }) => created).map(({ grant }) => grant.resource);
    return nodes.length > 0 ? this.admission.admitRules({ nodes, groups: [] }) : [];
  }

  private async give(asked: NewGrant, by: AuditContext, at: Date): Promise<{ grant: Grant; created: boolean }> {
    const outcome = await this.store.grant(asked, by.actor?.id ?? null, at);
    if (outcome.created) await this.record('grant_created', outcome.grant, by);
    return outcome;
  }

  private async take(id: number, by: AuditContext, at: Date): Promise<Grant | null> {
    const outcome = await this.store.revoke(id, by.actor?.id ?? null, at);
    if (outcome?.revoked === true) await this.record('grant_revoked', outcome.grant, by);
    return outcome?.grant ?? null;
  }

  private record(event: 'grant_created' | 'grant_revoked', grant: Grant, by: AuditContext): Promise<void> {
    const subject = { type: 'grant', id: String(grant.id), name: null } as const;
    return this.audit.record({ event, ...by, subject, details: grantDetails(grant) });
  }
}

function wrong(errors: FieldError[]): Refused {
  return new Refused('validation_failed', { errors });
}
