import { CandidateService } from '../../src/acl-sync/candidate.service.js';
import { administrator } from '../support/service/administrator.js';
import { startService, type TestService } from '../support/service/service.js';

const PREVIEW = '/api/admin/acl/preview';

describe('previews', () => {
  let service: TestService;
  beforeEach(async () => void (service = await startService({ ACL_SYNC_ENABLED: 'false' })));
  afterEach(() => service.stop());

  it('are made one at a time for each person, and two in all', async () => {
    const [first, second, third] = [
      await administrator(service, 'first'),
      await administrator(service, 'second'),
      await administrator(service, 'third'),
    ];
    const candidates = service.app.get(CandidateService);
    const read = candidates.read.bind(candidates);
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    let begun = 0;
    let bothBegun = (): void => undefined;
    const both = new Promise<void>((resolve) => (bothBegun = resolve));
    candidates.read = async () => {
      if (++begun === 2) bothBegun();
      await opened;
      return read();
    };
    const held = [first.post(PREVIEW), second.post(PREVIEW)];
    await both;

    const again = await first.post(PREVIEW);
    const another = await third.post(PREVIEW);

    expect(again).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
    expect(again.headers.get('retry-after')).toBe('5');
    expect(again.headers.get('ratelimit-policy')).toContain('"previews-per-person";q=1');
    expect(another).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
    expect(another.headers.get('ratelimit-policy')).toContain('"previews";q=2');
    open();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await third.post(PREVIEW)).toMatchObject({ status: 200 });
  });
});
