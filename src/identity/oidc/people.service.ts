import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { Clock } from '../../kernel/clock.js';
import { Transaction } from '../../platform/transaction.js';
import type { Account } from '../../users/domain/account.js';
import { UsersService } from '../../users/users.service.js';
import { OidcStore } from './domain/oidc-store.js';
import {
  accountNameOf,
  decidePerson,
  type Person,
  type PersonRefusal,
  type PersonRules,
  type Present,
} from './domain/person.js';

export type FoundPerson =
  | { kind: 'account'; account: Account }
  | { kind: 'refused'; code: PersonRefusal; account: Account | null };

/** Attempts while others make or link the same account. */
const MOST_TRIES = 3;

/** Finds, links and makes the accounts of people whom the provider vouches for. */
@Injectable()
export class PeopleService {
  constructor(
    private readonly store: OidcStore,
    private readonly users: UsersService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
  ) {}

  async accountOf(person: Person, rules: PersonRules, by: AuditContext): Promise<FoundPerson> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const found = await this.transaction.run(async () =>
        this.carryOut(person, await this.present(person), rules, by),
      );
      if (found !== null) return found;
    }
    return { kind: 'refused', code: 'name_taken', account: null };
  }

  /** The link comes last: the name may have been taken by another tab of the same person a moment ago. */
  private async present(person: Person): Promise<Present> {
    const named = await this.named(accountNameOf(person));
    const pushed = person.externalId === null ? null : await this.pushed(person.externalId);
    const linked = await this.store.accountOf(person);
    return { named, pushed, linked: linked === null ? null : await this.users.find(linked) };
  }

  private async pushed(externalId: string): Promise<Present['pushed']> {
    const id = await this.store.pushedAccount(externalId);
    const account = id === null ? null : await this.users.find(id);
    return account === null ? null : { account, isLinked: (await this.store.linkOf(account.id)) !== null };
  }

  private async named(name: string | null): Promise<Present['named']> {
    if (name === null) return null;
    const found = await this.users.findForLogin(name);
    // Looked up in any case, but a name of other letters is another one.
    if (found?.account.username !== name) return null;
    return { account: found.account, isLinked: (await this.store.linkOf(found.account.id)) !== null };
  }

  /** Null: somebody was faster, and it has to be decided anew. */
  private async carryOut(
    person: Person,
    present: Present,
    rules: PersonRules,
    by: AuditContext,
  ): Promise<FoundPerson | null> {
    const decision = decidePerson(person, present, rules);
    switch (decision.kind) {
      case 'sign-in':
        await this.store.signedIn(decision.account.id, this.clock.now());
        return { kind: 'account', account: decision.account };
      case 'refuse':
        return { kind: 'refused', code: decision.code, account: decision.account };
      case 'link':
        return (await this.link(decision.account, person, by)) ? { kind: 'account', account: decision.account } : null;
      case 'create': {
        const { username, email } = decision;
        const [outcome] = await this.users.create([{ username, email, role: 'user', source: 'oidc', password: null }]);
        if (outcome?.kind === 'name-taken') return { kind: 'refused', code: 'name_taken', account: null };
        if (outcome?.kind !== 'created') return null;
        const { account, isEmailTaken } = outcome;
        const details = { source: 'oidc', role: account.role, ...(isEmailTaken && { email_taken: true }) };
        await this.audit.record({ event: 'account_created', ...by, subject: userSubject(account), details });
        if (!(await this.link(account, person, by))) throw new Error('a person was linked while an account was made');
        return { kind: 'account', account };
      }
    }
  }

  /** In a transaction. @returns false: the account or the person is linked otherwise */
  async link(account: Account, person: Person, by: AuditContext): Promise<boolean> {
    if (!(await this.store.link(account.id, person, this.clock.now()))) return false;
    const details = { issuer: person.issuer, subject: person.subject };
    await this.audit.record({ event: 'account_linked', ...by, subject: userSubject(account), details });
    return true;
  }
}
