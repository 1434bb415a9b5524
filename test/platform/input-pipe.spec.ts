import 'reflect-metadata';
import { GrantBatchDto } from '../../src/grants/grants.dto.js';
import { Refused } from '../../src/kernel/errors.js';
import { cursorOf } from '../../src/kernel/page.js';
import { InputPipe } from '../../src/platform/http/input.pipe.js';
import { BigPageQuery, NamePageQuery, INVALID_CURSOR, PageLimit, PageQuery } from '../../src/platform/http/page.dto.js';
import { NestedArray, TextRule, anyText } from '../../src/platform/http/validation.js';

let parsed = 0;

class EntryDto {
  constructor() {
    parsed++;
  }

  @TextRule(anyText)
  name!: string;
}

class BodyDto {
  @NestedArray(() => EntryDto, 2)
  entries: EntryDto[] = [];
}

async function problemsOf(body: object, metatype: new () => object, type: 'body' | 'query' = 'body'): Promise<unknown> {
  const refused = await new InputPipe().transform(body, { type, metatype }).then(
    () => null,
    (error: unknown) => error,
  );
  return refused instanceof Refused ? refused.details.errors : refused;
}

describe('a list in a body', () => {
  beforeEach(() => {
    parsed = 0;
  });

  it('has each of its entries parsed and checked', async () => {
    expect(await problemsOf({ entries: [{ name: 'a' }, {}] }, BodyDto)).toEqual([
      { field: 'entries.1.name', message: 'is required' },
    ]);
    expect(parsed).toBe(2);
    expect(await problemsOf({ entries: [{ name: 'a' }, { name: 'b' }] }, BodyDto)).toBeNull();
    expect(await problemsOf({ entries: [1] }, BodyDto)).toEqual([
      { field: 'entries', message: 'must be a list of objects' },
    ]);
  });

  it.each([[[{}, {}, {}]], [[1, null, { unknown: [] }]]])(
    'is refused by its count alone where that is over the maximum: %j',
    async (entries) => {
      expect(await problemsOf({ entries }, BodyDto)).toEqual([
        { field: 'entries', message: 'must have at most 2 entries' },
      ]);
      expect(parsed).toBe(0);
    },
  );

  it('of ids is refused by its count, too', async () => {
    const revoke = Array.from({ length: 1001 }, () => 'none');
    expect(await problemsOf({ revoke }, GrantBatchDto)).toEqual([
      { field: 'revoke', message: 'must have at most 1000 entries' },
    ]);
  });
});

describe('a number in a query', () => {
  it.each(['0x10', '1e1', ' 7', '7.0', '', ['7']])('may not be %j', async (limit) => {
    expect(await problemsOf({ limit }, PageLimit, 'query')).toEqual([
      { field: 'limit', message: 'must be a whole number' },
    ]);
  });

  it.each([
    ['0', 'must be at least 1'],
    ['201', 'must be at most 200'],
  ])('is in its range, unlike %s', async (limit, message) => {
    expect(await problemsOf({ limit }, PageLimit, 'query')).toEqual([{ field: 'limit', message }]);
  });

  it('is of decimal digits', async () => {
    expect(await new InputPipe().transform({ limit: '16' }, { type: 'query', metatype: PageLimit })).toEqual({
      limit: 16,
    });
  });
});

describe('a cursor that is none of ours', () => {
  it.each([PageQuery, BigPageQuery, NamePageQuery])('is refused once: %p', async (list) => {
    for (const after of ['x', ['x', 'y'], ...(list === PageQuery ? [cursorOf(2 ** 31)] : [])])
      expect(await problemsOf({ after }, list, 'query')).toEqual([{ field: 'after', message: INVALID_CURSOR }]);
  });
});
