import { ApiProperty } from '@nestjs/swagger';
import { INTEGER, MOMENT } from '../platform/http/api-fields.js';

/** The same form as in the preview of a draft. */
export const GUARANTEE_STATES = {
  type: 'array',
  items: { $ref: '#/components/schemas/DraftGuaranteeResponse' },
  description: 'Broken by it, or broken now and mended by it.',
} as const;

export class BrokenGuaranteeResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
  @ApiProperty(MOMENT) since!: string;
  @ApiProperty({ description: 'The first breach, and what ends it.' }) message!: string;
}
