import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { checkVersion } from '../kernel/entity-tag.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { principalsIn } from '../trino-rules/model/guarantee.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import {
  WHOLE_SCOPE,
  MAX_GUARANTEES,
  guaranteeVersion,
  readGuarantee,
  readGuarantees,
  type RecordedGuarantee,
} from './domain/guarantee.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { GuaranteeStore } from './guarantee.store.js';

/** A guarantee with the verdict on it and the names of its principals. */
export type CheckedGuarantee = Pick<RecordedGuarantee, 'guarantee' | 'description' | 'judgement' | 'names'>;

/** Writes, deletes and judges guarantees: statements about access that no published version may break. */
@Injectable()
export class GuaranteesService {
  constructor(
    private readonly store: GuaranteeStore,
    private readonly snapshots: SnapshotStore,
    private readonly admission: AdmissionService,
    private readonly accessWrites: AccessWritesService,
    private readonly clock: Clock,
    accessChanges: AccessChangesService,
  ) {
    accessChanges.addCheck(() => admission.admitGuarantees(WHOLE_SCOPE));
  }

  /**
   * Creates a guarantee, or replaces an existing one in one step.
   * @param id the guarantee to replace; null: a new one is created
   * @param body the unvalidated request body
   * @param ifMatch the `If-Match` header: versions that may be replaced; null: any
   * @throws Refused `validation_failed`, `name_taken`, `not_found`, `precondition_failed`, `rules_unprovable`; `guarantee_broken` for an
   * enforced guarantee that is broken now
   */
  write(id: number | null, body: object, context: AuditContext, ifMatch: string | null): Promise<RecordedGuarantee> {
    return this.accessWrites.run(async () => {
      if (id !== null) orNotFound(await this.store.find(id));
      const { guarantee, description } = readGuarantee(body, await this.snapshots.read());
      await this.admission.admitPrincipals(principalsIn(guarantee).map((value) => ({ field: 'principal', value })));
      const outcome = await this.store.write({ ...guarantee, id: id ?? 0 }, description, context, this.clock.now());
      if (outcome === null && id !== null) orNotFound(await this.store.find(id)); // it may have been deleted meanwhile
      if (outcome === null)
        throw new Refused('name_taken', { detail: `There is a guarantee named ${guarantee.name} already.` });
      const { former, recordedGuarantee } = outcome;
      if (former !== null) checkVersion(ifMatch, guaranteeVersion(former), 'guarantee');
      if (recordedGuarantee.guarantee.id !== id && (await this.store.listAll()).length > MAX_GUARANTEES) {
        const message = `there are ${MAX_GUARANTEES} guarantees, which is the most`;
        throw new Refused('validation_failed', { errors: [{ field: 'name', message }] });
      }
      await this.admission.admitWrittenGuarantees([recordedGuarantee.guarantee], context);
      return orNotFound(await this.store.find(recordedGuarantee.guarantee.id)); // now with its verdict
    });
  }

  /**
   * @param ifMatch the `If-Match` header: versions that may be deleted; null: any
   * @throws Refused `not_found`, `precondition_failed`
   */
  async remove(id: number, context: AuditContext, ifMatch: string | null): Promise<void> {
    await this.accessWrites.run(async () => {
      const { former } = orNotFound(await this.store.remove(id, context, this.clock.now()));
      if (former !== null) checkVersion(ifMatch, guaranteeVersion(former), 'guarantee');
    });
  }

  /**
   * Judges guarantees on the recorded access, and writes nothing.
   * @param body the unvalidated request body. If it contains no guarantees, the recorded ones are judged
   * @throws Refused `validation_failed`, `rules_unprovable`
   */
  async check(body: object): Promise<CheckedGuarantee[]> {
    const snapshot = await this.snapshots.read();
    const principals = { user: snapshot.users, group: snapshot.groups };
    const names = Object.fromEntries(
      (['user', 'group'] as const).flatMap((type) => principals[type].map(({ id, name }) => [`${type}:${id}`, name])),
    );
    const guaranteeRows = readGuarantees(body, snapshot) ?? (await this.store.listAll());
    const { verdicts } = await this.admission.judgeNow(guaranteeRows.map(({ guarantee }) => guarantee));
    return guaranteeRows.map(({ guarantee, description }) => ({
      ...{ guarantee, description, names },
      judgement: verdicts.find(({ id }) => id === guarantee.id) ?? null,
    }));
  }
}
