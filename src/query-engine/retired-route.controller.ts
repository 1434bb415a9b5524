import { All, Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { Public } from '../platform/http/access.js';

/**
 * The engine's former public route: 405 for every method. AllowedMethods refuses routes for all
 * methods before a body is read, so that SQL as text/plain gets no 415 here.
 */
@Public()
@ApiExcludeController()
@Controller('v1/statement')
export class RetiredRouteController {
  @All(['', '*'])
  statement(): never {
    throw new Refused('method_not_allowed');
  }
}
