import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, userSubject } from '../audit/domain/audit-event.js';
import { getOrInsert } from '../kernel/collections.js';
import { Refused } from '../kernel/errors.js';
import { BEYOND_HEADERS, foldedName, isHeaderText, principalNameProblem } from '../kernel/name.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { AdministratorsService } from '../users/administrators.service.js';
import { accountKey, accountNameProblem, type Creation, emailProblem, holderText } from '../users/domain/account.js';
import { GROUP_NAME_TAKEN } from '../users/domain/administrators.js';
import { UserStore } from '../users/user.store.js';
import { AccessFileStore } from './access-file.store.js';
import { AccessWritesService } from './access-writes.service.js';
import { AdmissionService } from './admission.service.js';
import { TOUCHES_ALL } from './domain/guarantee.js';
import { changesBetween, type DescribedSnapshot, planOf, type PlanStep } from './domain/snapshot-changes.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { NOTHING } from './snapshot-files.service.js';
import { chunks, type ReportProgress, SnapshotWriter } from './snapshot-writer.service.js';

export interface Imported {
  outcome: 'imported' | 'planned' | 'no_change' | 'refused';
  plan: PlanStep[];
  problems: LineProblem[];
  remarks: LineProblem[];
  warnings: string[];
}

interface ImportOptions {
  dryRun: boolean;
  /** Accepts accounts with passwords, which anybody may have registered, as the people of the list. */
  withRegistered: boolean;
}

type Made = ListedPerson & { creation: Creation };

/** Creates accounts without passwords for a list of users, and adds them to groups. */
@Injectable()
export class UserImportService {
  constructor(
    private readonly writes: AccessWritesService,
    private readonly files: AccessFileStore,
    private readonly users: UserStore,
    private readonly administrators: AdministratorsService,
    private readonly snapshots: SnapshotStore,
    private readonly writer: SnapshotWriter,
    private readonly admission: AdmissionService,
    private readonly audit: AuditService,
  ) {}

  /**
   * Imports a list in one transaction that locks other writers of groups out. Existing accounts and memberships stay as they are. If a
   * line cannot be imported, nothing is changed and every such line is listed.
   * @throws CommitUnconfirmed with its cause
   */
  import(
    entries: readonly ListEntry[],
    { dryRun, withRegistered }: ImportOptions,
    by: AuditContext,
    report: ReportProgress = () => undefined,
  ): Promise<Imported> {
    return this.writes.runUnqueued<Imported>(async (rollBack) => {
      const refuse = (problems: LineProblem[]): never => rollBack({ outcome: 'refused', ...NOTHING, problems });
      await this.files.lockWrites();
      const list = userList(entries);
      const made = await this.createAccounts(list, report);
      const snapshot = await this.snapshots.read();
      const problems = [
        ...list.problems,
        ...made.flatMap(takenProblem),
        ...groupSpellingProblems(entries, list, snapshot.groups),
        ...this.takenNameProblems(list, snapshot.groups),
      ];
      if (problems.length > 0) return refuse(problems.sort(byLine));

      const recorded = { snapshot, descriptions: await this.files.descriptions() };
      const file = withMembers(recorded, list);
      const changes = changesBetween(recorded, file, {
        prune: false,
        managed: await this.files.managedGroups(),
      });
      const groupSteps = planOf(changes, recorded, file);
      const unknown = withRegistered ? [] : made.flatMap((person) => registeredProblem(person, groupSteps));
      if (unknown.length > 0) return refuse(unknown);
      const plan = [...made.flatMap(userStep), ...groupSteps];
      const remarks = [
        ...colonRemarks(entries),
        ...changes.managed.map(({ before }) => ({
          line: null,
          message: `the identity provider decides who is in ${JSON.stringify(before?.name)}: nobody joins it here`,
        })),
        ...made.flatMap(remarksOn),
      ].sort(byLine);
      if (plan.length === 0) return rollBack({ outcome: 'no_change', ...NOTHING, remarks });

      await this.recordCreations(made, by, report);
      const { touched } = await this.writer.write({ changes, recorded, file }, by, report);
      const admitted = await this.admit(touched);
      if ('refusal' in admitted) return refuse([{ line: null, message: admitted.refusal }]);
      const done = { plan, problems: [], remarks, warnings: admitted };
      if (dryRun) return rollBack({ outcome: 'planned', ...done });
      const details = { accounts: plan.length - groupSteps.length, changes: plan.length };
      await this.audit.record({ event: 'users_imported', ...by, subject: null, details });
      return { outcome: 'imported', ...done };
    });
  }

  private takenNameProblems({ groups }: UserList, recorded: Snapshot['groups']): LineProblem[] {
    const known = new Set(recorded.map(({ name }) => name));
    return [...groups.keys()]
      .filter((name) => !known.has(name) && this.administrators.isGroupName(name))
      .map((name) => ({ line: null, message: `${JSON.stringify(name)} ${GROUP_NAME_TAKEN}` }));
  }

  private async createAccounts({ people }: UserList, report: ReportProgress): Promise<Made[]> {
    const asked = people.map(({ name, email }) => ({ ...ACCOUNT, username: name, email }));
    const creations = await this.users.create(asked, {
      report: (count) => report(`${count} of ${people.length} accounts made`),
    });
    return people.flatMap((person, i): Made[] => {
      const creation = creations[i];
      return creation === undefined ? [] : [{ ...person, creation }];
    });
  }

  private async recordCreations(made: readonly Made[], by: AuditContext, report: ReportProgress): Promise<void> {
    const created = made.flatMap(({ creation }) => (creation.kind === 'created' ? [creation.account] : []));
    const details = { source: ACCOUNT.source, role: ACCOUNT.role, one_time_password: false };
    for (const chunk of chunks(created, 'accounts recorded', report)) {
      const events = chunk.map((account) => ({
        event: 'account_created' as const,
        subject: userSubject(account),
        details,
      }));
      await this.audit.recordAll(events.map((event) => ({ ...event, ...by })));
    }
  }

  private async admit(touched: Parameters<AdmissionService['admitRules']>[0]) {
    try {
      const ofRules = touched.groups.length === 0 ? [] : await this.admission.admitRules(touched);
      // Everyone includes the accounts that were made.
      return [...new Set([...ofRules, ...(await this.admission.admitGuarantees(TOUCHES_ALL))])];
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { refusal: error.details.detail ?? error.code };
    }
  }
}

const ACCOUNT = { role: 'user', source: 'import', password: null } as const;

/** The list as a snapshot file that contains only its groups and their members. */
function withMembers({ snapshot, descriptions }: DescribedSnapshot, list: UserList): DescribedSnapshot {
  const users = new Map(snapshot.users.map(({ name, id }) => [name, id]));
  const known = new Map(snapshot.groups.map(({ name, id }) => [name, id]));
  const groups = [...list.groups].map(([name, members], i): Snapshot['groups'][number] => ({
    id: known.get(name) ?? -1 - i,
    name,
    members: [...members].flatMap((member) => users.get(member) ?? []),
    engines: [],
  }));
  return { snapshot: { users: snapshot.users, groups, grants: [], policies: [] }, descriptions };
}

function userStep({ creation }: Made): PlanStep[] {
  if (creation.kind !== 'created') return [];
  const { username: name, email } = creation.account;
  return [{ action: 'add', kind: 'user', row: { name, ...(email === null ? {} : { email }) } }];
}

function takenProblem({ name, line, creation }: Made): LineProblem[] {
  if (creation.kind !== 'name-taken') return [];
  return [{ line, message: `${JSON.stringify(name)} ${holderText(creation.holder, name)}` }];
}

/** Refuses an account that somebody registered: it may not be the person of the list. An administrator counts as verified. */
function registeredProblem({ name, line, creation }: Made, steps: readonly PlanStep[]): LineProblem[] {
  if (creation.kind !== 'exists') return [];
  const { hasPassword, source, role } = creation.account;
  if (!hasPassword || source !== 'local' || role === 'admin') return [];
  const groups = steps
    .filter(({ kind, row }) => kind === 'member' && row['name'] === name)
    .map(({ row }) => row['group']);
  if (groups.length === 0) return [];
  const account = 'has a password already, and anybody may have registered the name';
  return [
    {
      line,
      message: `${JSON.stringify(name)} ${account}: look whose it is, and take it for this person by --with-registered`,
    },
  ];
}

function remarksOn({ name, email, line, creation }: Made): LineProblem[] {
  const remark = (message: string): LineProblem => ({ line, message: `${JSON.stringify(name)} ${message}` });
  switch (creation.kind) {
    case 'created':
      return [
        ...(creation.isEmailTaken ? [remark(`gets no address: another account has <${email ?? ''}>`)] : []),
        ...(isHeaderText(name) ? [] : [remark(`can run no SQL: ${BEYOND_HEADERS}`)]),
      ];
    case 'exists': {
      const { account } = creation;
      return [
        ...(account.isActive ? [] : [remark('is deactivated, and stays so')]),
        ...(email === null || email === account.email ? [] : [remark('is there already, and keeps its address')]),
      ];
    }
    case 'name-taken':
      return [];
  }
}

function byLine(a: LineProblem, b: LineProblem): number {
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

/** A user of the list, merged from all lines with the name. */
interface ListedPerson {
  name: string;
  email: string | null;
  /** Number of the user's first line. */
  line: number;
}

interface UserList {
  people: ListedPerson[];
  /** Names of members by the name of the group. */
  groups: Map<string, Set<string>>;
  problems: LineProblem[];
}

/** The users, groups and problems of a list. A person with problems is left out of users and groups. */
function userList(entries: readonly ListEntry[]): UserList {
  const problems: LineProblem[] = [];
  const people = new Map<string, ListedPerson>();
  const groups = new Map<string, Set<string>>();
  const userSpellings: Spellings = new Map();
  const groupSpellings: Spellings = new Map();
  for (const { name, email, groups: named, line } of entries) {
    const known = people.get(name);
    const found = [
      respelled(userSpellings, accountKey(name), name, line) ?? userNameProblem(name),
      email === null ? null : addressProblem(email, known?.email ?? null),
    ].filter((problem) => problem !== null);
    for (const message of found) problems.push({ line, message: `${JSON.stringify(name)} ${message}` });
    const good = named.filter((group) => {
      const problem = respelled(groupSpellings, foldedName(group), group, line) ?? principalNameProblem(group);
      if (problem !== null) problems.push({ line, message: `the group ${JSON.stringify(group)} ${problem}` });
      return problem === null;
    });
    if (found.length > 0) continue;
    people.set(name, { name, email: known?.email ?? email, line: known?.line ?? line });
    for (const group of good) getOrInsert(groups, group, () => new Set()).add(name);
  }
  return { people: [...people.values()], groups, problems };
}

/** The first spelling of each name, by a key that is equal in any case. */
type Spellings = Map<string, { name: string; line: number }>;

function respelled(spellings: Spellings, key: string, name: string, line: number): string | null {
  const first = getOrInsert(spellings, key, () => ({ name, line }));
  return first.name === name ? null : `differs from ${first.name} of line ${first.line} in case only`;
}

function userNameProblem(name: string): string | null {
  // A name with signs of the list's syntax comes from a line that was written wrongly.
  if (/[<>]/.test(name)) return 'has < or >, between which an e-mail address stands, at the end of the name';
  return accountNameProblem(name);
}

function addressProblem(email: string, former: string | null): string | null {
  const problem = emailProblem(email);
  if (problem !== null) return `has <${email}>, which ${problem}`;
  return former === null || former === email ? null : `has the address <${former}> already`;
}

/** Problems of groups that exist in a spelling with different case. */
function groupSpellingProblems(
  entries: readonly ListEntry[],
  list: UserList,
  recorded: readonly { name: string }[],
): LineProblem[] {
  const spelled = new Map(recorded.map(({ name }) => [foldedName(name), name]));
  return entries.flatMap(({ groups, line }) =>
    groups.flatMap((group): LineProblem[] => {
      const name = spelled.get(foldedName(group)) ?? group;
      if (name === group || !list.groups.has(group)) return [];
      return [{ line, message: `the group ${JSON.stringify(group)} differs from the group ${name} in case only` }];
    }),
  );
}

/** Remarks on names that contain a colon: they are legal, but often a blank is missing behind the colon. */
function colonRemarks(entries: readonly ListEntry[]): LineProblem[] {
  return entries
    .filter(({ name }) => name.includes(':'))
    .map(({ name, line }) => ({
      line,
      message: `${JSON.stringify(name)} is taken for a name: groups stand behind a colon and a blank`,
    }));
}
