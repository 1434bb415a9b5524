import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsArray, IsOptional } from 'class-validator';
import { parseDecimal } from '../../kernel/decimal.js';
import { keyOfCursor, type NamePageRequest, namesOfCursor, type PageRequest } from '../../kernel/page.js';
import { FieldRule, TextRule, WITHOUT_NUL } from './validation.js';

/** Parses a number in a query string. Text with other characters than decimal digits becomes NaN, which validation refuses. */
export function DecimalText(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parseDecimal(value) : value));
}

interface LimitRange {
  max: number;
  defaultLimit: number;
}

/** Limits and defaults of a page's length: of lists in general, of lists of a node's children or holders, and of a query's rows. */
export const PAGE_LIMITS = {
  items: { max: 200, defaultLimit: 50 },
  names: { max: 1000, defaultLimit: 200 },
  rows: { max: 10_000, defaultLimit: 1000 },
} satisfies Record<string, LimitRange>;

/** `?limit=`: a whole number from 1 to `max`. */
export function Limit({ max, defaultLimit }: LimitRange): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: max, default: defaultLimit }),
    DecimalText(),
    FieldRule((value) => {
      if (!isWholeNumber(value)) return 'must be a whole number';
      if (value < 1) return 'must be at least 1';
      return value > max ? `must be at most ${max}` : null;
    }),
  );
}

const isWholeNumber = (value: unknown): value is number => Number.isInteger(value);

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
  @Limit(PAGE_LIMITS.items)
  limit = PAGE_LIMITS.items.defaultLimit;
}

export const INVALID_CURSOR = 'must be the `next` of an earlier page';

/** `?after=`: the cursor `next` of the previous page. A repeated parameter is invalid. */
export function Cursor(parse: (cursor: string) => unknown): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: String, minLength: 1, description: 'The `next` of the previous page.' }),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? (parse(value) ?? value) : String(value))),
    IsOptional(),
  );
}

/** A cursor with a numeric key up to `maxKey`, because PostgreSQL refuses to compare an `integer` column with a larger number. */
function KeyCursor(maxKey: number): PropertyDecorator {
  const rule = FieldRule((key) => (isWholeNumber(key) && key <= maxKey ? null : INVALID_CURSOR));
  return applyDecorators(Cursor(keyOfCursor), rule);
}

/** `?after=` of a list that is ordered by names. */
export function AfterNames(): PropertyDecorator {
  return applyDecorators(Cursor(namesOfCursor), IsArray({ message: INVALID_CURSOR }));
}

/** `?limit=` and `?after=` of a list whose key is an `integer`. */
export class PageQuery extends PageLimit implements PageRequest {
  @KeyCursor(2 ** 31 - 1)
  after: number | null = null;
}

/** `?limit=` and `?after=` of a list that is ordered by names. */
export class NamePageQuery extends PageLimit implements NamePageRequest {
  @AfterNames()
  after: string[] | null = null;
}

/** `?limit=` and `?after=` of a list whose key is a `bigint`. */
export class BigPageQuery extends PageLimit implements PageRequest {
  @KeyCursor(Number.MAX_SAFE_INTEGER)
  after: number | null = null;
}
