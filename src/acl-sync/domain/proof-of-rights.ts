import { Bits } from '../../grants/domain/bits.js';
import { canBeImpersonated } from '../../grants/domain/intent.js';
import type { IntentSets } from '../../grants/domain/intent-sets.js';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Differences } from './difference.js';
import type { EngineSets } from './engine-sets.js';
import { everyRight, holders, MARKER, type Right } from './rights.js';

/** Queries, impersonation, functions, procedures and session properties, for everybody (access model, sections 1 and 2). */
export function proveRights(
  engine: EngineSets,
  intent: IntentSets,
  snapshot: Snapshot,
  differences: Differences,
): void {
  const meant = new MeantRights(engine, intent, snapshot);
  for (const right of everyRight([engine], snapshot.settings.sessionProperties)) {
    differences.compare(() => right, engine.everyWord, holders(engine, right), meant.holders(right));
  }
}

class MeantRights {
  private readonly own: Bits;
  private readonly people: Bits;
  /** Catalogs whose session properties are the service accounts' to set. */
  private readonly theirs: ReadonlySet<string>;
  private readonly live: string | undefined;

  constructor(
    private readonly engine: EngineSets,
    private readonly intent: IntentSets,
    private readonly snapshot: Snapshot,
  ) {
    const { list, activePeople } = intent.subjects;
    const { ownAccount, writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
    this.own = Bits.of(list.length, engine.people.named(ownAccount));
    this.people = intent.reachesSomething.and(activePeople);
    const closed = [metadataCatalog, 'system'];
    this.theirs = new Set([...writableCatalogs, ...readableCatalogs].filter((catalog) => !closed.includes(catalog)));
    // Which version it marks is not a matter of access; that only one is marked is.
    this.live = engine.rules.system_session_properties.find(
      ({ property, allow }) => allow && property?.startsWith(MARKER) === true,
    )?.property;
  }

  /** Null: nobody. */
  holders(right: Right): Bits | null {
    switch (right.about) {
      case 'queries':
        // Whoever reaches something may execute; nobody may view or kill another's query.
        return right.right === 'execute' ? this.intent.reachesSomething : null;
      case 'impersonation':
        return this.mayBecome(right.newUser) ? this.own : null;
      case 'routine':
        // `system.query` would walk around filters and masks.
        return null;
      case 'session-property':
        return right.catalog === null
          ? this.systemProperty(right.property)
          : this.theirs.has(right.catalog)
            ? this.intent.subjects.serviceAccounts
            : null;
    }
  }

  /** Only Grantline's own account becomes somebody else: an active person who can reach something. */
  private mayBecome(newUser: string): boolean {
    const { impersonation } = this.snapshot.settings;
    const isPerson = this.engine.people.named(newUser).some((position) => this.people.has(position));
    return impersonation && isPerson && canBeImpersonated(newUser);
  }

  /** The marker is the own account's; else service accounts may set everything, insiders what the settings list. */
  private systemProperty(property: string): Bits | null {
    const { serviceAccounts } = this.intent.subjects;
    if (property.startsWith(MARKER)) return property === this.live ? this.own : null;
    const isOpen = this.snapshot.settings.sessionProperties.includes(property);
    return isOpen ? serviceAccounts.or(this.intent.reachesSomething) : serviceAccounts;
  }
}
