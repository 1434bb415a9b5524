import { All, Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { Public } from '../platform/access.js';

/**
 * Where the engine's public route once led (source document 4.7): 405 for everybody, and no method that would do. A route for
 * all methods is refused by the route table already, before a body is looked at: SQL as text/plain has no wrong media type here.
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
