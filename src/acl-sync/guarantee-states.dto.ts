import { ApiProperty } from '@nestjs/swagger';
import { INTEGER, MOMENT } from '../platform/http/api-fields.js';
import type { GuaranteeVerdictForm } from '../trino-rules/answers/guarantee-verdicts.js';

export class GuaranteeStateResponse implements GuaranteeVerdictForm {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: ['holds', 'broken'] }) state!: GuaranteeVerdictForm['state'];
  @ApiProperty({ type: 'array', items: { $ref: '#/components/schemas/GuaranteeWitnessResponse' } })
  witnesses!: GuaranteeVerdictForm['witnesses'];
}

export class BrokenGuaranteeResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
  @ApiProperty(MOMENT) since!: string;
  @ApiProperty({ description: 'The first breach, and what ends it.' }) message!: string;
}
