import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsArray, IsOptional } from 'class-validator';
import { parseDecimal } from '../../kernel/decimal.js';
import { keyOfCursor, type NamePageRequest, namesOfCursor, type PageRequest } from '../../kernel/page.js';
import { FieldRule, TextRule, WITHOUT_NUL } from './validation.js';

/** Parses a number of a query string. Text other than decimal digits fails as NaN. */
export function DecimalText(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parseDecimal(value) : value));
}

interface LimitRange {
  most: number;
  fallback: number;
}

/** Lengths of pages: of lists in general, of lists about a node's children or holders, and of a query's rows. */
export const LIMITS = {
  items: { most: 200, fallback: 50 },
  names: { most: 1000, fallback: 200 },
  rows: { most: 10_000, fallback: 1000 },
} satisfies Record<string, LimitRange>;

/** `?limit=`: a whole number from 1 to `most`. */
export function Limit({ most, fallback }: LimitRange): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: most, default: fallback }),
    DecimalText(),
    FieldRule((value) => {
      if (!isWhole(value)) return 'must be a whole number';
      if (value < 1) return 'must be at least 1';
      return value > most ? `must be at most ${most}` : null;
    }),
  );
}

const isWhole = (value: unknown): value is number => Number.isInteger(value);

/** `?q=`: a text that the items of a list contain. */
export function SearchText(description: string): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: String, maxLength: 254, pattern: WITHOUT_NUL, description }),
    IsOptional(),
    TextRule((text) =>
      text.length > 254 || text.includes('\0') ? 'must be a text of at most 254 characters, without NUL' : null,
    ),
  );
}

export class PageLimit {
  @Limit(LIMITS.items)
  limit = LIMITS.items.fallback;
}

export const NOT_OURS = 'must be the `next` of an earlier page';

/** `?after=`: a cursor of an earlier page. A repeated parameter is invalid. */
export function Cursor(read: (cursor: string) => unknown): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: String, minLength: 1, description: 'The `next` of the page before.' }),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? (read(value) ?? value) : String(value))),
    IsOptional(),
  );
}

/** A cursor whose key fits the type of the list's key, because PostgreSQL refuses to compare with a larger one. */
function After(maxKey: number): PropertyDecorator {
  const rule = FieldRule((key) => (isWhole(key) && key <= maxKey ? null : NOT_OURS));
  return applyDecorators(Cursor(keyOfCursor), rule);
}

/** `?after=` of a list that is ordered by names. */
export function AfterNames(): PropertyDecorator {
  return applyDecorators(Cursor(namesOfCursor), IsArray({ message: NOT_OURS }));
}

/** `?limit=` and `?after=` of a list whose key is an `integer`. */
export class PageQuery extends PageLimit implements PageRequest {
  @After(2 ** 31 - 1)
  after: number | null = null;
}

/** `?limit=` and `?after=` of a list that is ordered by names. */
export class NamePageQuery extends PageLimit implements NamePageRequest {
  @AfterNames()
  after: string[] | null = null;
}

/** `?limit=` and `?after=` of a list whose key is a `bigint`. */
export class BigPageQuery extends PageLimit implements PageRequest {
  @After(Number.MAX_SAFE_INTEGER)
  after: number | null = null;
}
