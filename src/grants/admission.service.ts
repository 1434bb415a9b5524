import { Injectable } from '@nestjs/common';
import { type FieldError, Refused } from '../kernel/errors.js';
import { Settings } from '../platform/settings.js';
import { maskConflict } from '../trino-rules/model/mask-conflict.js';
import { type PolicySubject, principalText } from '../trino-rules/model/principal.js';
import { closedProblem, type Resource } from '../trino-rules/model/resource.js';
import { UsersService } from '../users/users.service.js';
import { AdmissionProof } from './domain/admission-proof.js';
import { EngineNames, type EngineNode } from './domain/engine-names.js';
import type { PolicyRule } from './domain/policy.js';
import { PrincipalDirectory } from './domain/principal-directory.js';
import { SizeForecast } from './domain/size-forecast.js';
import type { Touched } from './domain/snapshot-store.js';
import { SnapshotService } from './snapshot.service.js';

/** A principal or a node that a body names, and where it stands there. */
export interface NamedIn<T> {
  field: string;
  named: T;
}

/** A write that touches more is proved by the run alone: reading so many grants takes longer than a request may. */
const PROVED_GRANTS = 20_000;

/**
 * What is refused when it is written, because a refused publication would leave revoked access open: nodes where nobody may be
 * given anything, principals that are not there, masks that contradict each other, more than the target can hold, rules that
 * could not be proved.
 */
@Injectable()
export class AdmissionService {
  constructor(
    private readonly directory: PrincipalDirectory,
    private readonly users: UsersService,
    private readonly snapshots: SnapshotService,
    private readonly settings: Settings,
    private readonly size: SizeForecast,
    private readonly proof: AdmissionProof,
    private readonly engine: EngineNames,
  ) {}

  nodeErrors(nodes: readonly NamedIn<Resource>[]): FieldError[] {
    return nodes.flatMap(({ field, named }) => {
      const problem = closedProblem(named, this.settings.acl.metadataCatalog);
      return problem === null ? [] : [{ field, message: problem }];
    });
  }

  /**
   * Makes sure that everybody who is named is there, until the transaction ends, and that names on the engine are nobody else's.
   * @throws Refused `validation_failed` with everybody who cannot be named; `name_taken` for a name that an account has
   */
  async admitPrincipals(principals: readonly NamedIn<PolicySubject>[]): Promise<void> {
    const subjects = principals.map(({ named }) => named);
    const missing = new Set((await this.directory.missing(subjects)).map(principalText));
    const errors = principals.flatMap(({ field, named }): FieldError[] => {
      if (missing.has(principalText(named)))
        return [{ field: `${field}.id`, message: `there is no such ${named.type}` }];
      const isService = named.type === 'engine' && this.settings.acl.serviceAccounts.includes(named.name);
      if (!isService) return [];
      return [{ field: `${field}.name`, message: 'is a service account, whose rights follow from the settings alone' }];
    });
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const engineNames = subjects.flatMap((subject) => (subject.type === 'engine' ? [subject.name] : []));
    const [held] = await this.users.claimEngineNames([...new Set(engineNames)]);
    if (held === undefined) return;
    const holder = held.holder === 'account' ? 'an account' : 'an engine principal in another spelling';
    throw new Refused('name_taken', { detail: `The name ${held.name} belongs to ${holder}.` });
  }

  /** @throws Refused `mask_conflict` when the policy, as the transaction has written it, contradicts another one */
  async admitMask(policyId: number): Promise<void> {
    const conflict = maskConflict(await this.snapshots.read(), policyId);
    if (conflict === null) return;
    throw new Refused('mask_conflict', {
      detail: `Policy ${conflict.with} masks the same column at the same distance for ${conflict.who}.`,
      members: { policy_id: conflict.with },
    });
  }

  /**
   * What the transaction has written so far must fit the target, and be right when it is compiled: a run that is refused is
   * everybody's. Not for what takes away only: that is how people mend what a run refuses.
   * @returns how little room is left, where it is little
   * @throws Refused `rules_too_large` or `rules_unprovable` when what the transaction leaves could not be published
   */
  async admitRules(touched: Touched): Promise<string[]> {
    const room = await this.admitSize();
    const snapshot = await this.snapshots.readTouched(touched, PROVED_GRANTS);
    const refusal = snapshot && (await this.proof.refusal(snapshot));
    if (refusal !== null) throw new Refused('rules_unprovable', { detail: refusal });
    return room;
  }

  private async admitSize(): Promise<string[]> {
    const read = () => this.snapshots.read();
    const forecast = await this.size.forecast(read, (since) => this.snapshots.growth(since));
    if (forecast?.fits === false) throw new Refused('rules_too_large', { detail: forecast.message });
    return forecast === null ? [] : [forecast.message];
  }

  /** For each node what the engine does not know of it. A warning only: it may be made tomorrow, and the engine may be away. */
  async nameWarnings(nodes: readonly EngineNode[]): Promise<string[][]> {
    const unknown = await this.engine.unknownParts(nodes);
    return nodes.map((_, i) => [unknown[i] ?? []].flat());
  }

  /** What the engine does not know of a policy's node, or cannot read in its expression; it reads it as the service itself. */
  async policyWarnings(rule: PolicyRule): Promise<string[]> {
    const [unknown = []] = await this.nameWarnings([rule.resource]);
    if (unknown.length > 0 || (rule.kind !== 'row_filter' && rule.kind !== 'column_mask')) return unknown;
    const misread = await this.engine.misreading(rule.kind, rule.resource, rule.expression);
    return misread === null ? [] : [misread];
  }
}
