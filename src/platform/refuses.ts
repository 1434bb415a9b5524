import { ApiExtension } from '@nestjs/swagger';
import type { ErrorCode } from '../kernel/errors.js';

/** Says which refusals a route has of its own; those that follow from its shape are added by `describeApi`. */
export const Refuses = (...codes: ErrorCode[]): MethodDecorator => ApiExtension('x-refuses', codes);
