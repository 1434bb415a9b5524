import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, userSubject } from '../audit/domain/audit-event.js';
import { getOrInsert } from '../kernel/collections.js';
import { Refused } from '../kernel/errors.js';
import { HEADER_LIMIT_REASON, foldedName, isHeaderText, principalNameProblem } from '../kernel/name.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { AdministratorsService } from '../users/administrators.service.js';
import {
  accountKey,
  accountNameProblem,
  type CreateOutcome,
  emailProblem,
  holderText,
} from '../users/domain/account.js';
import { GROUP_NAME_TAKEN } from '../users/domain/administrators.js';
import { UserStore } from '../users/user.store.js';
import { AccessFileStore } from './access-file.store.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import { WHOLE_SCOPE } from './domain/guarantee.js';
import { changesBetween, type DescribedSnapshot, planOf, type PlanStep } from './domain/snapshot-changes.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { EMPTY_LISTS } from './snapshot-files.service.js';
import { chunks, type ReportProgress, SnapshotWriter } from './snapshot-writer.service.js';

export interface ImportResult {
  outcome: 'imported' | 'planned' | 'no_change' | 'refused';
  plan: PlanStep[];
  problems: LineProblem[];
  remarks: LineProblem[];
  warnings: string[];
}

type NewPerson = ListedPerson & { creation: CreateOutcome };

/** Creates accounts without passwords for the people of a list, and adds them to groups. */
@Injectable()
export class UserImportService {
  constructor(
    private readonly accessWrites: AccessWritesService,
    private readonly accessFiles: AccessFileStore,
    private readonly users: UserStore,
    private readonly administrators: AdministratorsService,
    private readonly snapshots: SnapshotStore,
    private readonly snapshotWriter: SnapshotWriter,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
  ) {}

  /**
   * Imports a list in one transaction that locks other writers of groups out. Existing accounts and memberships stay as they are. If a
   * line cannot be imported, nothing is changed and every such line is listed.
   * @param acceptsRegistered accepts existing accounts with passwords, although other people may have registered them
   * @throws CommitUnconfirmed with its cause; Refused `busy`
   */
  import(
    entries: readonly ListEntry[],
    { isDryRun, acceptsRegistered }: { isDryRun: boolean; acceptsRegistered: boolean },
    context: AuditContext,
    report: ReportProgress = () => undefined,
  ): Promise<ImportResult> {
    return this.accessWrites.runUnqueued<ImportResult>(async (rollBack) => {
      const refuse = (problems: LineProblem[]): never => rollBack({ outcome: 'refused', ...EMPTY_LISTS, problems });
      await this.accessFiles.lockWrites();
      const list = userList(entries);
      const people = await this.createAccounts(list, report);
      const snapshot = await this.snapshots.read();
      const problems = [
        ...list.problems,
        ...people.flatMap(takenNameProblem),
        ...groupSpellingProblems(entries, list, snapshot.groups),
        ...this.takenNameProblems(list, snapshot.groups),
      ];
      if (problems.length > 0) return refuse(problems.sort(compareLines));

      const database = { snapshot, descriptions: await this.accessFiles.readDescriptions() };
      const file = snapshotOfList(database, list);
      const changes = changesBetween(database, file, {
        mustPrune: false,
        managedGroupIds: await this.accessFiles.managedGroupIds(),
      });
      const groupSteps = planOf(changes, database, file);
      const refusals = acceptsRegistered ? [] : people.flatMap((person) => registeredNameProblem(person, groupSteps));
      if (refusals.length > 0) return refuse(refusals);
      const plan = [...people.flatMap(userStep), ...groupSteps];
      const remarks = [
        ...colonRemarks(entries),
        ...changes.managedGroups.map(({ oldRow }) => ({
          line: null,
          message: `the identity provider decides who is in ${JSON.stringify(oldRow?.name)}: nobody joins it here`,
        })),
        ...people.flatMap(remarksOnPerson),
      ].sort(compareLines);
      if (plan.length === 0) return rollBack({ outcome: 'no_change', ...EMPTY_LISTS, remarks });

      await this.recordCreations(people, context, report);
      const { touchedScope } = await this.snapshotWriter.write({ changes, database, file }, context, report);
      const warnings = await this.admit(touchedScope);
      if ('refusal' in warnings) return refuse([{ line: null, message: warnings.refusal }]);
      const result = { plan, problems: [], remarks, warnings };
      if (isDryRun) return rollBack({ outcome: 'planned', ...result });
      const details = { accounts: plan.length - groupSteps.length, changes: plan.length };
      await this.audit.record({ event: 'users_imported', ...context, subject: null, details });
      return { outcome: 'imported', ...result };
    });
  }

  private takenNameProblems({ groups }: UserList, recordedGroups: Snapshot['groups']): LineProblem[] {
    const recordedNames = new Set(recordedGroups.map(({ name }) => name));
    return [...groups.keys()]
      .filter((name) => !recordedNames.has(name) && this.administrators.isGroupName(name))
      .map((name) => ({ line: null, message: `${JSON.stringify(name)} ${GROUP_NAME_TAKEN}` }));
  }

  private async createAccounts({ people }: UserList, report: ReportProgress): Promise<NewPerson[]> {
    const newAccounts = people.map(({ name, email }) => ({ ...IMPORTED_ACCOUNT, username: name, email }));
    const creations = await this.users.create(newAccounts, {
      report: (count) => report(`${count} of ${people.length} accounts made`),
    });
    return people.flatMap((person, i): NewPerson[] => {
      const creation = creations[i];
      return creation === undefined ? [] : [{ ...person, creation }];
    });
  }

  private async recordCreations(
    people: readonly NewPerson[],
    context: AuditContext,
    report: ReportProgress,
  ): Promise<void> {
    const accounts = people.flatMap(({ creation }) => (creation.kind === 'created' ? [creation.account] : []));
    const details = { source: IMPORTED_ACCOUNT.source, role: IMPORTED_ACCOUNT.role, one_time_password: false };
    for (const chunk of chunks(accounts, 'accounts recorded', report)) {
      const eventFields = { event: 'account_created' as const, ...context, details };
      await this.audit.recordAll(chunk.map((account) => ({ ...eventFields, subject: userSubject(account) })));
    }
  }

  private async admit(touchedScope: Parameters<AdmissionService['admitRules']>[0]) {
    try {
      const ruleWarnings = touchedScope.groups.length === 0 ? [] : await this.admission.admitRules(touchedScope);
      // All guarantees are checked, because the new accounts are members of the principal *everyone*.
      return [...new Set([...ruleWarnings, ...(await this.admission.admitGuarantees(WHOLE_SCOPE))])];
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { refusal: error.details.detail ?? error.code };
    }
  }
}

const IMPORTED_ACCOUNT = { role: 'user', source: 'import', storedPassword: null } as const;

/** The list as a snapshot file: the recorded users, the groups of the list with their members, and no grants or policies. */
function snapshotOfList({ snapshot, descriptions }: DescribedSnapshot, list: UserList): DescribedSnapshot {
  const users = new Map(snapshot.users.map(({ name, id }) => [name, id]));
  const groupIds = new Map(snapshot.groups.map(({ name, id }) => [name, id]));
  const groups = [...list.groups].map(([name, members], i): Snapshot['groups'][number] => ({
    id: groupIds.get(name) ?? -1 - i,
    name,
    members: [...members].flatMap((member) => users.get(member) ?? []),
    engines: [],
  }));
  return { snapshot: { users: snapshot.users, groups, grants: [], policies: [] }, descriptions };
}

function userStep({ creation }: NewPerson): PlanStep[] {
  if (creation.kind !== 'created') return [];
  const { username: name, email } = creation.account;
  return [{ action: 'add', kind: 'user', row: { name, ...(email === null ? {} : { email }) } }];
}

function takenNameProblem({ name, line, creation }: NewPerson): LineProblem[] {
  if (creation.kind !== 'name-taken') return [];
  return [{ line, message: `${JSON.stringify(name)} ${holderText(creation.holder, name)}` }];
}

/** The problem of an existing local account that would get groups: a stranger may have registered the listed name. Administrators' accounts are trusted. */
function registeredNameProblem({ name, line, creation }: NewPerson, groupSteps: readonly PlanStep[]): LineProblem[] {
  if (creation.kind !== 'exists') return [];
  const { hasPassword, source, role } = creation.account;
  if (!hasPassword || source !== 'local' || role === 'admin') return [];
  const groups = groupSteps
    .filter(({ kind, row }) => kind === 'member' && row['name'] === name)
    .map(({ row }) => row['group']);
  if (groups.length === 0) return [];
  const reason = 'has a password already, and anybody may have registered the name';
  return [
    {
      line,
      message: `${JSON.stringify(name)} ${reason}: look whose it is, and take it for this person by --with-registered`,
    },
  ];
}

function remarksOnPerson({ name, email, line, creation }: NewPerson): LineProblem[] {
  const remarkOf = (message: string): LineProblem => ({ line, message: `${JSON.stringify(name)} ${message}` });
  switch (creation.kind) {
    case 'created':
      return [
        ...(creation.isEmailTaken ? [remarkOf(`gets no address: another account has <${email ?? ''}>`)] : []),
        ...(isHeaderText(name) ? [] : [remarkOf(`can run no SQL: ${HEADER_LIMIT_REASON}`)]),
      ];
    case 'exists': {
      const { account } = creation;
      return [
        ...(account.isActive ? [] : [remarkOf('is deactivated, and stays so')]),
        ...(email === null || email === account.email ? [] : [remarkOf('is there already, and keeps its address')]),
      ];
    }
    case 'name-taken':
      return [];
  }
}

function compareLines(a: LineProblem, b: LineProblem): number {
  return (a.line ?? 0) - (b.line ?? 0);
}

interface ListEntry {
  name: string;
  email: string | null;
  groups: readonly string[];
  line: number;
}

export interface LineProblem {
  line: number | null;
  message: string;
}

interface ListedPerson {
  name: string;
  email: string | null;
  line: number;
}

interface UserList {
  people: ListedPerson[];
  /** Names of members by the name of the group. */
  groups: Map<string, Set<string>>;
  problems: LineProblem[];
}

/** The people, groups and problems of a list. A person with problems is left out of the people and groups. */
function userList(entries: readonly ListEntry[]): UserList {
  const problems: LineProblem[] = [];
  const people = new Map<string, ListedPerson>();
  const groups = new Map<string, Set<string>>();
  const userSpellings: Spellings = new Map();
  const groupSpellings: Spellings = new Map();
  for (const { name, email, groups: groupNames, line } of entries) {
    const knownPerson = people.get(name);
    const lineProblems = [
      spellingProblem(userSpellings, accountKey(name), name, line) ?? userNameProblem(name),
      email === null ? null : addressProblem(email, knownPerson?.email ?? null),
    ].filter((problem) => problem !== null);
    for (const message of lineProblems) problems.push({ line, message: `${JSON.stringify(name)} ${message}` });
    const validGroups = groupNames.filter((group) => {
      const problem = spellingProblem(groupSpellings, foldedName(group), group, line) ?? principalNameProblem(group);
      if (problem !== null) problems.push({ line, message: `the group ${JSON.stringify(group)} ${problem}` });
      return problem === null;
    });
    if (lineProblems.length > 0) continue;
    people.set(name, { name, email: knownPerson?.email ?? email, line: knownPerson?.line ?? line });
    for (const group of validGroups) getOrInsert(groups, group, () => new Set()).add(name);
  }
  return { people: [...people.values()], groups, problems };
}

/** The first spelling of each name. Spellings that differ in case only have the same key. */
type Spellings = Map<string, { name: string; line: number }>;

function spellingProblem(spellings: Spellings, key: string, name: string, line: number): string | null {
  const spelling = getOrInsert(spellings, key, () => ({ name, line }));
  return spelling.name === name ? null : `differs from ${spelling.name} of line ${spelling.line} in case only`;
}

function userNameProblem(name: string): string | null {
  if (/[<>]/.test(name)) return 'has < or >, between which an e-mail address stands, at the end of the name';
  return accountNameProblem(name);
}

function addressProblem(email: string, formerEmail: string | null): string | null {
  const problem = emailProblem(email);
  if (problem !== null) return `has <${email}>, which ${problem}`;
  return formerEmail === null || formerEmail === email ? null : `has the address <${formerEmail}> already`;
}

function groupSpellingProblems(
  entries: readonly ListEntry[],
  list: UserList,
  recordedGroups: readonly { name: string }[],
): LineProblem[] {
  const recordedSpellings = new Map(recordedGroups.map(({ name }) => [foldedName(name), name]));
  return entries.flatMap(({ groups, line }) =>
    groups.flatMap((group): LineProblem[] => {
      const name = recordedSpellings.get(foldedName(group)) ?? group;
      if (name === group || !list.groups.has(group)) return [];
      return [{ line, message: `the group ${JSON.stringify(group)} differs from the group ${name} in case only` }];
    }),
  );
}

/** Remarks on names that contain a colon. Such names are legal, but often a blank between the colon and a group was forgotten. */
function colonRemarks(entries: readonly ListEntry[]): LineProblem[] {
  return entries
    .filter(({ name }) => name.includes(':'))
    .map(({ name, line }) => ({
      line,
      message: `${JSON.stringify(name)} is taken for a name: groups stand behind a colon and a blank`,
    }));
}
