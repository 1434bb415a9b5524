import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { found, Refused } from '../kernel/errors.js';
import { type Page, mapPage, type PageRequest } from '../kernel/page.js';
import { principalsIn } from '../trino-rules/model/guarantee.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import { guaranteeEvent } from './domain/audit-details.js';
import {
  ANYTHING,
  GUARANTEES_MOST,
  readGuarantee,
  readGuarantees,
  type RecordedGuarantee,
} from './domain/guarantee.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { GuaranteeStates } from './guarantee-states.service.js';
import { GuaranteeStore } from './guarantee.store.js';

/** A guarantee with the verdict on it and the names of its principals. */
export interface CheckedGuarantee extends Pick<RecordedGuarantee, 'guarantee' | 'description' | 'judgement'> {
  naming: Awaited<ReturnType<GuaranteeStore['naming']>>;
}

export type ToldGuarantee = RecordedGuarantee & CheckedGuarantee;

/** Sentences about access that no version may break. */
@Injectable()
export class GuaranteesService {
  constructor(
    private readonly store: GuaranteeStore,
    private readonly states: GuaranteeStates,
    private readonly snapshots: SnapshotStore,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
    changes: AccessChangesService,
  ) {
    changes.judgeBy(() => admission.admitGuarantees(ANYTHING));
  }

  async list(page: PageRequest): Promise<Page<ToldGuarantee>> {
    const found = await this.store.list(page);
    const naming = await this.store.naming(found.items.map(({ guarantee }) => guarantee));
    return mapPage(found, (each) => ({ ...each, naming }));
  }

  /** @throws Refused `not_found` */
  async find(id: number): Promise<ToldGuarantee> {
    const recorded = found(await this.store.find(id));
    return { ...recorded, naming: await this.store.naming([recorded.guarantee]) };
  }

  /**
   * Writes a new one, or one in the place of another in one step.
   * @param id of the other; null: a new one
   * @param body not yet read
   * @throws Refused `validation_failed`, `name_taken`, `not_found`, `rules_unprovable`; `guarantee_broken` where it is enforced, and broken now
   */
  async write(id: number | null, body: object, by: AuditContext): Promise<ToldGuarantee> {
    const written = await this.writes.run(async () => {
      const former = id === null ? null : found(await this.store.find(id));
      const { guarantee, description } = readGuarantee(body, await this.snapshots.read());
      await this.admission.admitPrincipals(principalsIn(guarantee).map((named) => ({ field: 'principal', named })));
      const asked = { ...guarantee, id: id ?? 0 };
      const recorded = await this.store.write(asked, description, by.actor?.id ?? null, this.clock.now());
      if (recorded === null)
        throw new Refused('name_taken', { detail: `There is a guarantee named ${guarantee.name} already.` });
      if (recorded.guarantee.id !== id && (await this.states.all()).length > GUARANTEES_MOST) {
        const message = `there are ${GUARANTEES_MOST} guarantees, which is the most`;
        throw new Refused('validation_failed', { errors: [{ field: 'name', message }] });
      }
      await this.audit.record(guaranteeEvent(former, recorded, by));
      await this.admission.admitWritten([recorded.guarantee], by);
      return recorded.guarantee.id;
    });
    return this.find(written);
  }

  /** @throws Refused `not_found` */
  async remove(id: number, by: AuditContext): Promise<void> {
    await this.writes.run(async () => {
      const former = await this.store.remove(id, this.clock.now());
      if (former === 'missing') throw new Refused('not_found');
      if (former !== 'gone') await this.audit.record(guaranteeEvent(former, null, by));
    });
  }

  /**
   * Judges guarantees on what is recorded now, and writes nothing.
   * @param body not yet read; without guarantees, the recorded ones are judged
   * @throws Refused `validation_failed`, `rules_unprovable`
   */
  async check(body: object): Promise<CheckedGuarantee[]> {
    const drafts = readGuarantees(body, await this.snapshots.read()) ?? (await this.states.all());
    const guarantees = drafts.map(({ guarantee }) => guarantee);
    const naming = await this.store.naming(guarantees);
    const { verdicts } = await this.admission.judged(guarantees);
    return drafts.map(({ guarantee, description }) => ({
      ...{ guarantee, description, naming },
      judgement: verdicts.find(({ id }) => id === guarantee.id) ?? null,
    }));
  }
}
