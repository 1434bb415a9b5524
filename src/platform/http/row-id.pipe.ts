import { Injectable, type PipeTransform } from '@nestjs/common';
import { Refused } from '../../kernel/errors.js';

/** The id of a row, in a path. A malformed id gets 404, like an unknown one. */
@Injectable()
export class RowIdPipe implements PipeTransform<string, number> {
  transform(text: string): number {
    const id = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
    if (id === 0 || id >= 2 ** 31) throw new Refused('not_found');
    return id;
  }
}
