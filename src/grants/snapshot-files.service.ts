import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { groupBy } from '../kernel/collections.js';
import { foldedName } from '../kernel/name.js';
import { Transaction } from '../platform/database/transaction.js';
import { expressionWarnings } from '../trino-rules/document/expression-warnings.js';
import { principalsIn } from '../trino-rules/model/guarantee.js';
import { withNamed } from '../trino-rules/model/node.js';
import { byName, type PolicyPrincipal } from '../trino-rules/model/principal.js';
import { Principals } from '../trino-rules/model/principals.js';
import { MaskConflicts } from '../trino-rules/model/mask-conflicts.js';
import type { SnapshotProblem } from '../trino-rules/model/snapshot-decoder.js';
import { type ExportedSnapshot, exportSnapshot, RowExport } from '../trino-rules/model/snapshot-export.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { AdministratorsService } from '../users/administrators.service.js';
import { GROUP_NAME_TAKEN } from '../users/domain/administrators.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { AccessFileStore } from './access-file.store.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService, namedIn } from './admission.service.js';
import { readAccessFile, type RowPlaces } from './domain/access-file.js';
import { TOUCHES_ALL, GUARANTEES_MOST } from './domain/guarantee.js';
import {
  changesBetween,
  type DescribedSnapshot,
  planOf,
  type PlanStep,
  type SnapshotChanges,
} from './domain/snapshot-changes.js';
import { GrantStore } from './grant.store.js';
import { EVERY_ROW, type ReportProgress, SnapshotWriter, type Written } from './snapshot-writer.service.js';
import { SnapshotStore } from './domain/snapshot-store.js';

export interface ApplyOptions {
  /** Writes and checks everything, then rolls back. */
  dryRun: boolean;
  /** Removes entries that the file does not name. */
  prune: boolean;
  /** Called where a guarantee would be changed or removed; throws Refused. Absent: the command line. */
  proveAdministrator?: () => void;
}

export interface AppliedForm {
  outcome: 'applied' | 'planned' | 'no_change' | 'refused';
  plan: PlanStep[];
  problems: SnapshotProblem[];
  remarks: SnapshotProblem[];
  warnings: string[];
}

export const NOTHING = { plan: [], problems: [], remarks: [], warnings: [] };

/** Exports recorded access as a snapshot file, and applies one. */
@Injectable()
export class SnapshotFilesService {
  constructor(
    private readonly files: AccessFileStore,
    private readonly snapshots: SnapshotStore,
    private readonly grants: GrantStore,
    private readonly writer: SnapshotWriter,
    private readonly admission: AdmissionService,
    private readonly names: PrincipalNames,
    private readonly administrators: AdministratorsService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly writes: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /** Live access at one moment, by name and ordered by content. */
  export(): Promise<ExportedSnapshot> {
    return this.transaction.run(async () => {
      await this.files.readOneState();
      const descriptions = await this.files.descriptions();
      return exportSnapshot(await this.snapshots.read(), descriptions);
    });
  }

  /**
   * Applies a file in one transaction that locks other writers out. A change that the API would refuse is a problem: then nothing is
   * changed, and every problem is listed with its place in the file.
   * @throws CommitUnconfirmed with its cause; Refused `guarantee_broken`, `reauthentication_required`
   * @param value the parsed JSON or YAML
   */
  apply(
    value: unknown,
    options: ApplyOptions,
    by: AuditContext,
    report: ReportProgress = () => undefined,
  ): Promise<AppliedForm> {
    return this.writes.runUnqueued((rollBack) => this.applied(value, options, by, report, rollBack));
  }

  private async applied(
    value: unknown,
    { dryRun, prune, proveAdministrator }: ApplyOptions,
    by: AuditContext,
    report: ReportProgress,
    rollBack: (outcome: AppliedForm) => never,
  ): Promise<AppliedForm> {
    await this.files.lockWrites();
    const snapshot = await this.snapshots.read();
    const reading = readAccessFile(value, snapshot);
    const refuse = (problems: SnapshotProblem[]): never => rollBack({ outcome: 'refused', ...NOTHING, problems });
    if (reading.kind === 'refused') return refuse(reading.problems);
    const { file, places } = reading;
    const recorded: DescribedSnapshot = { snapshot, descriptions: await this.files.descriptions() };
    const wanted = changesBetween(recorded, file, { prune, managed: await this.files.managedGroups() });
    const remarks = [...reading.remarks, ...managedRemarks(wanted, places)];
    const ended = await this.expiredGrantProblems(wanted, file, places);
    const changes = {
      ...wanted,
      grants: wanted.grants.filter(({ after }) => after === null || !ended.known.has(after.id)),
    };
    const plan = planOf(changes, recorded, file);
    if (changes.guarantees.some(({ before }) => before !== null)) proveAdministrator?.();
    const problems = [
      ...ended.problems,
      ...tooManyGuarantees(snapshot, changes),
      ...this.takenNameProblems(changes, places),
      ...(await this.claimNames(changes, places)),
    ];
    if (problems.length > 0) return refuse(problems);
    if (plan.length === 0) return { outcome: 'no_change', ...NOTHING, remarks };

    const written = await this.writer.write({ changes, recorded, file }, by, report);
    const { refusals, warnings: ofCapacity } = await this.admit(snapshot, changes, written, places, by);
    if (refusals.length > 0) return refuse(refusals);
    const ofGuarantees = await this.admission.admitGuarantees(TOUCHES_ALL);
    const warnings = [...ofExpressions(changes, places), ...ofCapacity, ...ofGuarantees];
    const done = { plan, problems: [], remarks, warnings };
    if (dryRun) return rollBack({ outcome: 'planned', ...done });
    await this.audit.record({
      event: 'snapshot_applied',
      ...by,
      subject: null,
      details: { changes: plan.length, prune },
    });
    return { outcome: 'applied', ...done };
  }

  /** Refuses new grants with an expiry in the past, as the API does, except those that the database holds as expired grants. */
  private async expiredGrantProblems({ grants }: SnapshotChanges, file: DescribedSnapshot, places: RowPlaces) {
    const now = this.clock.now();
    const ended = grants.flatMap(({ before, after }) =>
      before === null && after !== null && after.expiresAt !== null && after.expiresAt <= now ? [after] : [],
    );
    if (ended.length === 0) return { known: new Set<number>(), problems: [] };
    const { items } = await this.grants.list({ state: 'expired' }, { limit: EVERY_ROW, after: null }, now);
    const terms = ({ principal, resource, privileges, expires_at }: Readonly<Record<string, unknown>>) =>
      JSON.stringify([principal, resource, privileges, expires_at]);
    const given = new Set(
      items.map(({ principal, resource, privileges, expiresAt }) => {
        const expires_at = expiresAt?.toISOString();
        return terms({ principal: byName(principal), resource: withNamed(resource, byName), privileges, expires_at });
      }),
    );
    const rows = new RowExport(file.snapshot);
    const isKnown = (grant: (typeof ended)[number]) => given.has(terms(rows.grant(grant)));
    return {
      known: new Set(ended.filter(isKnown).map(({ id }) => id)),
      problems: ended
        .filter((grant) => !isKnown(grant))
        .map(({ id }) => ({ path: `${places.grants.get(id) ?? ''}.expires_at`, message: 'must be in the future' })),
    };
  }

  private takenNameProblems({ groups }: SnapshotChanges, places: RowPlaces): SnapshotProblem[] {
    return groups.flatMap(({ before, after }) =>
      before === null && after !== null && this.administrators.isGroupName(after.name)
        ? [{ path: `${places.groups.get(after.id) ?? ''}.name`, message: GROUP_NAME_TAKEN }]
        : [],
    );
  }

  private async claimNames(
    { groups, grants, policies, guarantees }: SnapshotChanges,
    places: RowPlaces,
  ): Promise<SnapshotProblem[]> {
    const engines = (path: string, named: PolicyPrincipal | undefined) =>
      named?.type === 'engine' ? [{ name: named.name, path }] : [];
    const named = [
      ...groups.flatMap(({ after, addedMembers }) => {
        const path = `${places.groups.get(after?.id ?? 0) ?? ''}.members`;
        return addedMembers.flatMap((one) => (typeof one === 'string' ? [] : [{ name: one.engine, path }]));
      }),
      ...[
        ...grants.flatMap(({ after }) => (after ? { at: places.grants.get(after.id), ...after, except: [] } : [])),
        ...policies.flatMap(({ after }) => (after ? { at: places.policies.get(after.id), ...after } : [])),
      ].flatMap(({ at = '', principal, resource, except }) => [
        ...engines(`${at}.principal`, principal),
        ...namedIn(`${at}.`, resource).flatMap(({ field, named }) => engines(field, named)),
        ...except.flatMap((named, i) => engines(`${at}.except[${i}]`, named)),
      ]),
      ...guarantees.flatMap(({ after }) => {
        const at = places.guarantees.get(after?.id ?? 0) ?? '';
        return after === null ? [] : principalsIn(after).flatMap((named) => engines(at, named));
      }),
    ];
    const held = await this.names.claimForEngine([...new Set(named.map(({ name }) => name))]);
    const byName = groupBy(named, ({ name }) => foldedName(name));
    return held.flatMap(({ name, holder }) => {
      const message = `is the name of ${holder === 'account' ? 'an account' : 'an engine principal in another spelling'}`;
      return (byName.get(foldedName(name)) ?? []).map(({ path }) => ({ path, message }));
    });
  }

  private async admit(
    recorded: Snapshot,
    changes: SnapshotChanges,
    { touched, policies, guarantees }: Written,
    places: RowPlaces,
    by: AuditContext,
  ) {
    const acting = changes.grants.flatMap(({ before, after }) =>
      before === null && after?.resource.as?.type === 'engine'
        ? [{ fieldPrefix: `${places.grants.get(after.id) ?? ''}.`, grant: after }]
        : [],
    );
    const snapshot = policies.size + acting.length > 0 ? await this.snapshots.read() : null;
    const refusals: SnapshotProblem[] = [];
    if (snapshot !== null) {
      const chained = this.admission.actingErrors(acting, new Principals(snapshot).actors);
      refusals.push(...chained.map(({ field, message }) => ({ path: field, message })));
      refusals.push(...maskProblems(recorded, snapshot, policies, places));
    }
    if (refusals.length > 0) return { refusals, warnings: [] };
    try {
      const isTouching = touched.nodes.length + touched.groups.length > 0;
      const warnings = isTouching ? await this.admission.admitRules(touched) : [];
      await this.admission.admitWritten(guarantees, by);
      return { refusals, warnings };
    } catch (error) {
      if (!(error instanceof Refused) || error.code === 'guarantee_broken') throw error;
      return { refusals: [{ path: '', message: error.details.detail ?? error.code }], warnings: [] };
    }
  }
}

function tooManyGuarantees({ guarantees = [] }: Snapshot, changes: SnapshotChanges): SnapshotProblem[] {
  const sides = changes.guarantees.map(({ before, after }) => Number(after !== null) - Number(before !== null));
  const count = sides.reduce((sum, each) => sum + each, guarantees.length);
  if (count <= GUARANTEES_MOST) return [];
  return [{ path: 'guarantees', message: `there would be ${count}, and ${GUARANTEES_MOST} are the most` }];
}

function managedRemarks({ managed }: SnapshotChanges, places: RowPlaces): SnapshotProblem[] {
  return managed.map(({ before, after }) => {
    const path = after === null ? 'groups' : `${places.groups.get(after.id) ?? ''}.members`;
    return {
      path,
      message: `the identity provider decides who is in ${before?.name ?? ''}, which apply does not change`,
    };
  });
}

function ofExpressions({ policies }: SnapshotChanges, places: RowPlaces): string[] {
  return policies.flatMap(({ after }) => {
    const path = `${places.policies.get(after?.id ?? 0) ?? ''}.expression`;
    return after === null ? [] : expressionWarnings(after).map((message) => `${path}: ${message}`);
  });
}

function maskProblems(
  recorded: Snapshot,
  snapshot: Snapshot,
  written: ReadonlyMap<number, number>,
  places: RowPlaces,
): SnapshotProblem[] {
  const conflicts = new MaskConflicts(snapshot);
  const former = new Map(recorded.policies.map((policy) => [policy.id, policy]));
  return [...written].flatMap(([inFile, id]) => {
    const conflict = conflicts.conflictOf(id, former.get(id));
    if (conflict === null) return [];
    const message = `masks the same column at the same distance as another policy for ${conflict.principal}`;
    return [{ path: places.policies.get(inFile) ?? '', message }];
  });
}
