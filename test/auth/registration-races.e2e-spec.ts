import { sharedService } from '../support/service/service.js';
import { ApiClient, registrant } from '../support/service/api-client.js';
import { throughLockBarrier } from './lock-barrier.js';

describe('registrations at once', () => {
  const service = sharedService({ DATABASE_POOL_MAX: '60' });
  const anonymous = new ApiClient(service);

  /** Reads continue, so that every registration finds the name free; the claims wait. */
  const LOCK = 'LOCK TABLE principal_names, users IN EXCLUSIVE MODE';
  const spelled = (text: string, at: number): string =>
    Array.from(text, (letter, place) => ((at >> (place % 6)) % 2 === 0 ? letter : letter.toUpperCase())).join('');

  it('of fifty of one name in mixed case exactly one succeeds', async () => {
    const answers = await throughLockBarrier(service, LOCK, 50, () =>
      Array.from({ length: 50 }, (_, at) =>
        anonymous.post(
          '/api/auth/register',
          registrant(spelled('mixed_case', at), { email: `person${at}@example.org` }),
        ),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body?.['code'] === 'username_taken')).toHaveLength(49);
  });

  it('of fifty of one address in mixed case exactly one succeeds', async () => {
    const answers = await throughLockBarrier(service, LOCK, 50, () =>
      Array.from({ length: 50 }, (_, at) =>
        anonymous.post('/api/auth/register', registrant(`person_${at}`, { email: spelled('one@example.org', at) })),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body?.['code'] === 'email_taken')).toHaveLength(49);
  });
});
