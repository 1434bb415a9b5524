import { foldedName, nameProblem } from '../../kernel/name.js';
import { type GroupMember, type PolicyPrincipal, type Principal, PRINCIPAL_TYPES } from './principal.js';
import type { SnapshotDecoder } from './snapshot-decoder.js';
import type { SnapshotGroup, SnapshotSettings, SnapshotUser } from './snapshot.js';

interface Lookup {
  ids: ReadonlySet<number>;
  byName: ReadonlyMap<unknown, number>;
}

/** The principals of a snapshot file, by id or by name; no name is ambiguous. */
export class SnapshotNames {
  /** Whose name it is, by the folded name. */
  private readonly holders = new Map<string, string>();
  private readonly engineNames = new Map<string, string>();
  private readonly known: Record<'user' | 'group', Lookup>;

  constructor(
    private readonly form: SnapshotDecoder,
    users: readonly SnapshotUser[],
    groups: readonly Pick<SnapshotGroup, 'id' | 'name'>[],
    settings: SnapshotSettings,
    private readonly unknownUser: (name: string) => string = () => 'names no user of this file',
  ) {
    for (const name of settings.serviceAccounts) this.holders.set(foldedName(name), 'a service account');
    users.forEach(({ name }, i) => {
      this.claim(name, `users[${i}].name`);
    });
    const groupNames = new Set<string>();
    groups.forEach(({ name }, i) => {
      if (name !== '' && groupNames.has(foldedName(name)))
        form.refuse(`groups[${i}].name`, 'is the name of another group');
      groupNames.add(foldedName(name));
    });
    this.known = { user: lookup(users), group: lookup(groups) };
  }

  principal(value: unknown, path: string): Principal {
    const { type, id, name } = this.form.object(value, path, ['type', 'id', 'name']);
    switch (this.form.oneOf<Principal['type']>(type, `${path}.type`, PRINCIPAL_TYPES)) {
      case 'user':
        return { type: 'user', id: this.find('user', id, name, path) };
      case 'group':
        return { type: 'group', id: this.find('group', id, name, path) };
      case 'engine':
        if (id !== undefined) this.form.refuse(`${path}.id`, 'an engine principal has a name only');
        return { type: 'engine', name: this.engineName(name, `${path}.name`) };
      case undefined:
        return { type: 'user', id: 0 };
    }
  }

  policyPrincipal(value: unknown, path: string): PolicyPrincipal {
    const { type } = typeof value === 'object' && value !== null && 'type' in value ? value : { type: undefined };
    if (type !== 'everyone') return this.principal(value, path);
    this.form.object(value, path, ['type']);
    return { type };
  }

  /** A member of a group: an account's id or its name, or an engine principal as `{"engine": name}`. */
  member(value: unknown, path: string): GroupMember {
    if (typeof value === 'string') return { type: 'user', id: this.find('user', undefined, value, path) };
    if (typeof value !== 'object') return { type: 'user', id: this.find('user', value, undefined, path) };
    const { engine } = this.form.object(value, path, ['engine']);
    return { type: 'engine', name: this.engineName(engine, `${path}.engine`) };
  }

  private find(kind: 'user' | 'group', id: unknown, name: unknown, path: string): number {
    const { ids, byName } = this.known[kind];
    const found = name === undefined ? id : byName.get(name);
    if (typeof found === 'number' && ids.has(found) && (id === undefined || id === found)) return found;
    const isUnknown = kind === 'user' && typeof name === 'string' && !byName.has(name);
    this.form.refuse(path, isUnknown ? this.unknownUser(name) : `names no ${kind} of this file`);
    return 0;
  }

  private engineName(value: unknown, path: string): string {
    const name = this.form.text(value, path, nameProblem);
    const holder = this.holders.get(foldedName(name));
    if (holder !== undefined) {
      const remedy = holder === 'an account' ? FOR_A_PERSON : '';
      this.form.refuse(path, `is the name of ${holder}, not of an engine principal${remedy}`);
    }
    const spelling = this.engineNames.get(foldedName(name)) ?? name;
    if (spelling !== name) this.form.refuse(path, `differs from the engine principal ${spelling} in case only`);
    this.engineNames.set(foldedName(name), spelling);
    return name;
  }

  private claim(name: string, path: string): void {
    const holder = this.holders.get(foldedName(name));
    if (holder === undefined) this.holders.set(foldedName(name), 'an account');
    else if (name !== '') this.form.refuse(path, `is the name of ${holder} already`);
  }
}

const FOR_A_PERSON =
  ': give the program another name, or mark the person in the list of users (user: before the name) and import again';

function lookup(rows: readonly { id: number; name: string }[]): Lookup {
  return { ids: new Set(rows.map(({ id }) => id)), byName: new Map(rows.map(({ id, name }) => [name, id])) };
}
