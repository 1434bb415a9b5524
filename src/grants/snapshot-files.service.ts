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
import { mapPrincipal } from '../trino-rules/model/node.js';
import { principalWithoutId, type PolicyPrincipal } from '../trino-rules/model/principal.js';
import { Principals } from '../trino-rules/model/principals.js';
import { MaskConflicts } from '../trino-rules/model/mask-conflicts.js';
import type { SnapshotProblem } from '../trino-rules/model/snapshot-decoder.js';
import { type ExportedSnapshot, exportSnapshot, RowExporter } from '../trino-rules/model/snapshot-export.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { AdministratorsService } from '../users/administrators.service.js';
import { GROUP_NAME_TAKEN } from '../users/domain/administrators.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { AccessFileStore } from './access-file.store.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService, nodePrincipals } from './admission.service.js';
import { readAccessFile, type RowPaths } from './domain/access-file.js';
import { WHOLE_SCOPE, MAX_GUARANTEES } from './domain/guarantee.js';
import {
  changesBetween,
  type DescribedSnapshot,
  planOf,
  type PlanStep,
  type SnapshotChanges,
} from './domain/snapshot-changes.js';
import { GrantStore } from './grant.store.js';
import { EVERY_ROW, type ReportProgress, SnapshotWriter, type WriteResult } from './snapshot-writer.service.js';
import { SnapshotStore } from './domain/snapshot-store.js';

export interface ApplyOptions {
  /** Whether to roll back after everything was written and checked. */
  isDryRun: boolean;
  /** Whether to remove recorded groups, grants, policies and guarantees that the file lacks. */
  mustPrune: boolean;
  /** Called before a guarantee is changed or removed; must throw Refused if the administrator's last authentication is not recent. Absent on the command line. */
  proveAdministrator?: () => void;
}

export interface AppliedForm {
  outcome: 'applied' | 'planned' | 'no_change' | 'refused';
  plan: PlanStep[];
  problems: SnapshotProblem[];
  remarks: SnapshotProblem[];
  warnings: string[];
}

export const EMPTY_LISTS = { plan: [], problems: [], remarks: [], warnings: [] };

@Injectable()
export class SnapshotFilesService {
  constructor(
    private readonly files: AccessFileStore,
    private readonly snapshots: SnapshotStore,
    private readonly grants: GrantStore,
    private readonly snapshotWriter: SnapshotWriter,
    private readonly admission: AdmissionService,
    private readonly names: PrincipalNames,
    private readonly administrators: AdministratorsService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly accessWrites: AccessWritesService,
    private readonly clock: Clock,
  ) {}

  /** Reads the recorded access at one moment as a snapshot file, with names instead of ids and ordered by content. */
  export(): Promise<ExportedSnapshot> {
    return this.transaction.run(async () => {
      await this.files.useRepeatableRead();
      const descriptions = await this.files.readDescriptions();
      return exportSnapshot(await this.snapshots.read(), descriptions);
    });
  }

  /**
   * Applies a file in one transaction that locks other writers out. If the API would refuse any of the changes, nothing is changed, and
   * the result lists every problem with its place in the file.
   * @throws CommitUnconfirmed if the commit failed, so that its outcome is unknown; Refused `busy`, `guarantee_broken`, `reauthentication_required`
   * @param value the parsed JSON or YAML
   */
  apply(
    value: unknown,
    { isDryRun, mustPrune, proveAdministrator }: ApplyOptions,
    context: AuditContext,
    report: ReportProgress = () => undefined,
  ): Promise<AppliedForm> {
    return this.accessWrites.runUnqueued<AppliedForm>(async (rollBack) => {
      await this.files.lockWrites();
      const snapshot = await this.snapshots.read();
      const reading = readAccessFile(value, snapshot);
      const refuse = (problems: SnapshotProblem[]): never => rollBack({ outcome: 'refused', ...EMPTY_LISTS, problems });
      if (reading.kind === 'refused') return refuse(reading.problems);
      const { file, paths } = reading;
      const database: DescribedSnapshot = { snapshot, descriptions: await this.files.readDescriptions() };
      const managedGroupIds = await this.files.managedGroupIds();
      const allChanges = changesBetween(database, file, { mustPrune, managedGroupIds });
      const remarks = [...reading.remarks, ...managedRemarks(allChanges, paths)];
      const expiryProblems = await this.expiredGrantProblems(allChanges, file, paths);
      const changes = {
        ...allChanges,
        grants: allChanges.grants.filter(({ newRow }) => newRow === null || !expiryProblems.knownIds.has(newRow.id)),
      };
      const plan = planOf(changes, database, file);
      if (changes.guarantees.some(({ oldRow }) => oldRow !== null)) proveAdministrator?.();
      const problems = [
        ...expiryProblems.problems,
        ...guaranteeCountProblems(snapshot, changes),
        ...this.takenNameProblems(changes, paths),
        ...(await this.claimNames(changes, paths)),
      ];
      if (problems.length > 0) return refuse(problems);
      if (plan.length === 0) return { outcome: 'no_change', ...EMPTY_LISTS, remarks };

      const writeResult = await this.snapshotWriter.write({ changes, database, file }, context, report);
      const { refusals, warnings: capacityWarnings } = await this.admit(snapshot, changes, writeResult, paths, context);
      if (refusals.length > 0) return refuse(refusals);
      const guaranteeWarnings = await this.admission.admitGuarantees(WHOLE_SCOPE);
      const warnings = [...expressionWarningsWithPaths(changes, paths), ...capacityWarnings, ...guaranteeWarnings];
      const result = { plan, problems: [], remarks, warnings };
      if (isDryRun) return rollBack({ outcome: 'planned', ...result });
      const details = { changes: plan.length, prune: mustPrune };
      await this.audit.record({ event: 'snapshot_applied', ...context, subject: null, details });
      return { outcome: 'applied', ...result };
    });
  }

  /** Problems of new grants that have already expired, which the API would refuse. An expired grant that the database already has is no problem. */
  private async expiredGrantProblems({ grants }: SnapshotChanges, file: DescribedSnapshot, paths: RowPaths) {
    const now = this.clock.now();
    const expiredGrants = grants.flatMap(({ oldRow, newRow }) =>
      oldRow === null && newRow !== null && newRow.expiresAt !== null && newRow.expiresAt <= now ? [newRow] : [],
    );
    if (expiredGrants.length === 0) return { knownIds: new Set<number>(), problems: [] };
    const { items } = await this.grants.list({ state: 'expired' }, { limit: EVERY_ROW, after: null }, now);
    const termsKey = ({ principal, resource, privileges, expires_at }: Readonly<Record<string, unknown>>) =>
      JSON.stringify([principal, resource, privileges, expires_at]);
    const recordedKeys = new Set(
      items.map(({ principal, resource, privileges, expiresAt }) => {
        const expires_at = expiresAt?.toISOString();
        return termsKey({
          principal: principalWithoutId(principal),
          resource: mapPrincipal(resource, principalWithoutId),
          privileges,
          expires_at,
        });
      }),
    );
    const rows = new RowExporter(file.snapshot);
    const isRecorded = (grant: (typeof expiredGrants)[number]) => recordedKeys.has(termsKey(rows.exportGrant(grant)));
    return {
      knownIds: new Set(expiredGrants.filter(isRecorded).map(({ id }) => id)),
      problems: expiredGrants
        .filter((grant) => !isRecorded(grant))
        .map(({ id }) => ({ path: `${paths.grants.get(id) ?? ''}.expires_at`, message: 'must be in the future' })),
    };
  }

  private takenNameProblems({ groups }: SnapshotChanges, paths: RowPaths): SnapshotProblem[] {
    return groups.flatMap(({ oldRow, newRow }) =>
      oldRow === null && newRow !== null && this.administrators.isGroupName(newRow.name)
        ? [{ path: `${paths.groups.get(newRow.id) ?? ''}.name`, message: GROUP_NAME_TAKEN }]
        : [],
    );
  }

  private async claimNames(
    { groups, grants, policies, guarantees }: SnapshotChanges,
    paths: RowPaths,
  ): Promise<SnapshotProblem[]> {
    const engineNamesAt = (path: string, principal: PolicyPrincipal | undefined) =>
      principal?.type === 'engine' ? [{ name: principal.name, path }] : [];
    const engineNames = [
      ...groups.flatMap(({ newRow, addedMembers }) => {
        const path = `${paths.groups.get(newRow?.id ?? 0) ?? ''}.members`;
        return addedMembers.flatMap((member) => (typeof member === 'string' ? [] : [{ name: member.engine, path }]));
      }),
      ...[
        ...grants.flatMap(({ newRow }) => (newRow ? { path: paths.grants.get(newRow.id), ...newRow, except: [] } : [])),
        ...policies.flatMap(({ newRow }) => (newRow ? { path: paths.policies.get(newRow.id), ...newRow } : [])),
      ].flatMap(({ path = '', principal, resource, except }) => [
        ...engineNamesAt(`${path}.principal`, principal),
        ...nodePrincipals(`${path}.`, resource).flatMap(({ field, value }) => engineNamesAt(field, value)),
        ...except.flatMap((each, i) => engineNamesAt(`${path}.except[${i}]`, each)),
      ]),
      ...guarantees.flatMap(({ newRow }) => {
        const path = paths.guarantees.get(newRow?.id ?? 0) ?? '';
        return newRow === null ? [] : principalsIn(newRow).flatMap((each) => engineNamesAt(path, each));
      }),
    ];
    const takenNames = await this.names.claimEngineNames([...new Set(engineNames.map(({ name }) => name))]);
    const pathsByName = groupBy(engineNames, ({ name }) => foldedName(name));
    return takenNames.flatMap(({ name, holder }) => {
      const message = `is the name of ${holder === 'account' ? 'an account' : 'an engine principal in another spelling, which is in use'}`;
      return (pathsByName.get(foldedName(name)) ?? []).map(({ path }) => ({ path, message }));
    });
  }

  private async admit(
    formerSnapshot: Snapshot,
    changes: SnapshotChanges,
    { touchedScope, policyIds, guarantees }: WriteResult,
    paths: RowPaths,
    context: AuditContext,
  ) {
    const impersonationGrants = changes.grants.flatMap(({ oldRow, newRow }) =>
      oldRow === null && newRow?.resource.as?.type === 'engine'
        ? [{ fieldPrefix: `${paths.grants.get(newRow.id) ?? ''}.`, grant: newRow }]
        : [],
    );
    const snapshot = policyIds.size + impersonationGrants.length > 0 ? await this.snapshots.read() : null;
    const refusals: SnapshotProblem[] = [];
    if (snapshot !== null) {
      const impersonationErrors = this.admission.impersonationErrors(
        impersonationGrants,
        new Principals(snapshot).impersonators,
      );
      refusals.push(...impersonationErrors.map(({ field, message }) => ({ path: field, message })));
      refusals.push(...maskProblems(formerSnapshot, snapshot, policyIds, paths));
    }
    if (refusals.length > 0) return { refusals, warnings: [] };
    try {
      const needsAdmission = touchedScope.nodes.length + touchedScope.groups.length > 0;
      const warnings = needsAdmission ? await this.admission.admitRules(touchedScope) : [];
      await this.admission.admitWrittenGuarantees(guarantees, context);
      return { refusals, warnings };
    } catch (error) {
      if (!(error instanceof Refused) || error.code === 'guarantee_broken') throw error;
      return { refusals: [{ path: '', message: error.details.detail ?? error.code }], warnings: [] };
    }
  }
}

function guaranteeCountProblems({ guarantees = [] }: Snapshot, changes: SnapshotChanges): SnapshotProblem[] {
  const addedRows = changes.guarantees.filter(({ oldRow }) => oldRow === null);
  const removedRows = changes.guarantees.filter(({ newRow }) => newRow === null);
  const count = guarantees.length + addedRows.length - removedRows.length;
  if (count <= MAX_GUARANTEES) return [];
  return [{ path: 'guarantees', message: `there would be ${count}, and ${MAX_GUARANTEES} are the most` }];
}

function managedRemarks({ managedGroups }: SnapshotChanges, paths: RowPaths): SnapshotProblem[] {
  return managedGroups.map(({ oldRow, newRow }) => {
    const path = newRow === null ? 'groups' : `${paths.groups.get(newRow.id) ?? ''}.members`;
    return {
      path,
      message: `the identity provider decides who is in ${oldRow?.name ?? ''}, which apply does not change`,
    };
  });
}

function expressionWarningsWithPaths({ policies }: SnapshotChanges, paths: RowPaths): string[] {
  return policies.flatMap(({ newRow }) => {
    const path = `${paths.policies.get(newRow?.id ?? 0) ?? ''}.expression`;
    return newRow === null ? [] : expressionWarnings(newRow).map((message) => `${path}: ${message}`);
  });
}

function maskProblems(
  formerSnapshot: Snapshot,
  snapshot: Snapshot,
  writtenPolicyIds: ReadonlyMap<number, number>,
  paths: RowPaths,
): SnapshotProblem[] {
  const conflicts = new MaskConflicts(snapshot);
  const formerPolicies = new Map(formerSnapshot.policies.map((policy) => [policy.id, policy]));
  return [...writtenPolicyIds].flatMap(([fileId, id]) => {
    const conflict = conflicts.conflictOf(id, formerPolicies.get(id));
    if (conflict === null) return [];
    const message = `masks the same column at the same distance as another policy for ${conflict.principal}`;
    return [{ path: paths.policies.get(fileId) ?? '', message }];
  });
}
