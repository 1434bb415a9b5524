import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { checkVersion } from '../kernel/entity-tag.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import type { Page, PageRequest } from '../kernel/page.js';
import { principalsIn } from '../trino-rules/model/guarantee.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import {
  TOUCHES_ALL,
  GUARANTEES_MOST,
  guaranteeVersion,
  readGuarantee,
  readGuarantees,
  type RecordedGuarantee,
} from './domain/guarantee.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { GuaranteeStore } from './guarantee.store.js';

/** A guarantee with the verdict on it and the names of its principals. */
export type CheckedGuarantee = Pick<RecordedGuarantee, 'guarantee' | 'description' | 'judgement' | 'names'>;

/** Sentences about access that no version may break. */
@Injectable()
export class GuaranteesService {
  constructor(
    private readonly store: GuaranteeStore,
    private readonly snapshots: SnapshotStore,
    private readonly admission: AdmissionService,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
    changes: AccessChangesService,
  ) {
    changes.judgeBy(() => admission.admitGuarantees(TOUCHES_ALL));
  }

  list(page: PageRequest): Promise<Page<RecordedGuarantee>> {
    return this.store.list(page);
  }

  /** @throws Refused `not_found` */
  async find(id: number): Promise<RecordedGuarantee> {
    return orNotFound(await this.store.find(id));
  }

  /**
   * Writes a new one, or one in the place of another in one step.
   * @param id of the other; null: a new one
   * @param body not yet read
   * @param ifMatch the `If-Match` header: versions that may be replaced; null: any
   * @throws Refused `validation_failed`, `name_taken`, `not_found`, `precondition_failed`, `rules_unprovable`; `guarantee_broken` where it is
   * enforced, and broken now
   */
  write(id: number | null, body: object, by: AuditContext, ifMatch: string | null): Promise<RecordedGuarantee> {
    return this.writes.run(async () => {
      if (id !== null) orNotFound(await this.store.find(id));
      const { guarantee, description } = readGuarantee(body, await this.snapshots.read());
      await this.admission.admitPrincipals(principalsIn(guarantee).map((named) => ({ field: 'principal', named })));
      const written = await this.store.write({ ...guarantee, id: id ?? 0 }, description, by, this.clock.now());
      if (written === null)
        throw new Refused('name_taken', { detail: `There is a guarantee named ${guarantee.name} already.` });
      const { former, recorded } = written;
      if (former !== null) checkVersion(ifMatch, guaranteeVersion(former), 'guarantee');
      if (recorded.guarantee.id !== id && (await this.store.listAll()).length > GUARANTEES_MOST) {
        const message = `there are ${GUARANTEES_MOST} guarantees, which is the most`;
        throw new Refused('validation_failed', { errors: [{ field: 'name', message }] });
      }
      await this.admission.admitWritten([recorded.guarantee], by);
      return this.find(recorded.guarantee.id); // with the verdict
    });
  }

  /**
   * @param ifMatch the `If-Match` header: versions that may be deleted; null: any
   * @throws Refused `not_found`, `precondition_failed`
   */
  async remove(id: number, by: AuditContext, ifMatch: string | null): Promise<void> {
    await this.writes.run(async () => {
      const { former } = orNotFound(await this.store.remove(id, by, this.clock.now()));
      if (former !== null) checkVersion(ifMatch, guaranteeVersion(former), 'guarantee');
    });
  }

  /**
   * Judges guarantees on what is recorded now, and writes nothing.
   * @param body not yet read; without guarantees, the recorded ones are judged
   * @throws Refused `validation_failed`, `rules_unprovable`
   */
  async check(body: object): Promise<CheckedGuarantee[]> {
    const snapshot = await this.snapshots.read();
    const named = { user: snapshot.users, group: snapshot.groups };
    const names = Object.fromEntries(
      (['user', 'group'] as const).flatMap((type) => named[type].map(({ id, name }) => [`${type}:${id}`, name])),
    );
    const drafts = readGuarantees(body, snapshot) ?? (await this.store.listAll());
    const { verdicts } = await this.admission.judgeNow(drafts.map(({ guarantee }) => guarantee));
    return drafts.map(({ guarantee, description }) => ({
      ...{ guarantee, description, names },
      judgement: verdicts.find(({ id }) => id === guarantee.id) ?? null,
    }));
  }
}
