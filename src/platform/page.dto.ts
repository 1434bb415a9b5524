import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { keyOfCursor, type PageRequest } from '../kernel/page.js';

/** `?limit=` and `?after=` of every list. */
export class PageQuery implements PageRequest {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 200, default: 50 })
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^[0-9]{1,4}$/.test(value) ? Number(value) : value,
  )
  @IsInt({ message: 'must be a whole number' })
  @Min(1, { message: 'must be at least 1' })
  @Max(200, { message: 'must be at most 200' })
  limit = 50;

  @ApiPropertyOptional({ type: String, minLength: 1, description: 'The `next` of the page before.' })
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? (keyOfCursor(value) ?? value) : value))
  @IsOptional()
  @IsInt({ message: 'must be the `next` of an earlier page' })
  after: number | null = null;
}
