import { PageBudget, type PageCharge } from './page-budget.js';

describe('PageBudget', () => {
  const budget = (): PageBudget => new PageBudget(400, 50);
  function charge(of: PageBudget, owner: string, bytes: number): PageCharge {
    const opened = of.open(owner);
    expect(opened.atLeast(bytes)).toBe('granted');
    return opened;
  }

  it('gives each owner a share, and takes it back with the last release', () => {
    const of = budget();
    const first = charge(of, 'ana', 60);
    const more = of.open('ana');

    expect(more.atLeast(41)).toBe('share');
    const reader = first.retain();
    first.release();
    expect(more.atLeast(41)).toBe('share');
    reader();
    reader();
    expect(more.atLeast(41)).toBe('granted');
    expect(of.bytes).toBe(41);
  });

  it('counts a page once, however often it is asked for again', () => {
    const of = budget();
    const page = charge(of, 'ana', 80);

    expect(page.atLeast(30)).toBe('granted');
    expect(page.atLeast(90)).toBe('granted');
    expect(of.bytes).toBe(90);
  });

  it('evicts pages at rest of the owners with the most bytes, for an owner with fewer', () => {
    const of = budget();
    const gone: string[] = [];
    for (const owner of ['ana', 'bo', 'cy', 'di']) {
      charge(of, owner, 90).rest(() => gone.push(owner));
      charge(of, owner, owner === 'cy' ? 10 : 9).rest(() => gone.push(`${owner} too`));
    }
    const small = of.open('ed');

    expect(small.atLeast(20)).toBe('granted');
    expect(gone).toEqual(['cy']);
    expect(of.bytes).toBeLessThanOrEqual(400);
  });

  it('evicts no page that is read, and none of owners with as few bytes', () => {
    const of = budget();
    const gone: string[] = [];
    for (const owner of ['ana', 'bo', 'cy', 'di']) {
      const page = charge(of, owner, 100);
      page.rest(() => gone.push(owner));
      if (owner !== 'di') page.retain();
    }

    const third = of.open('ed');
    expect(third.atLeast(60)).toBe('granted');
    expect(gone).toEqual(['di']);
    expect(of.open('fay').atLeast(50)).toBe('full');
  });

  it('evicts what its owner has read before it refuses the owner, and nothing that waits to be read', () => {
    const of = budget();
    const gone: string[] = [];
    const [, read, beingRead] = ['waiting', 'read', 'being read'].map((name) => {
      const page = charge(of, 'ana', 30);
      page.rest(() => gone.push(name));
      return page;
    });
    read?.spare();
    beingRead?.spare();
    beingRead?.retain();

    expect(of.open('ana').atLeast(40)).toBe('granted');
    expect(gone).toEqual(['read']);
    expect(of.open('ana').atLeast(1)).toBe('share');
  });
});
