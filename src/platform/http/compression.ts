import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { concatMap, type Observable } from 'rxjs';

export const compress = promisify(gzip);

/** Bodies below this length are not compressed, because they fit in one or two packets anyway. */
const MIN_COMPRESSED_BYTES = 2_048;

@Injectable()
class Compression implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { headers } = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    void reply.header('Vary', 'Accept-Encoding');
    if (!acceptsCoding(headers['accept-encoding'], 'gzip')) return next.handle();
    return next.handle().pipe(concatMap((body: unknown) => compressIfLarge(body, reply)));
  }
}

async function compressIfLarge(body: unknown, reply: FastifyReply): Promise<unknown> {
  const text = JSON.stringify(body);
  if (text.length < MIN_COMPRESSED_BYTES) return body;
  void reply.type('application/json; charset=utf-8').header('Content-Encoding', 'gzip');
  return compress(text, { level: 4 });
}

/** Compresses a route's answers. Only for long, repetitive pages without secrets, because the compressed length could reveal secrets. */
export const Compressed = (): MethodDecorator => UseInterceptors(Compression);

/** Whether a client accepts a coding, by its name or `*`, with a weight above 0 (RFC 9110 section 12.5.3). */
export function acceptsCoding(header: string | undefined, coding: 'br' | 'gzip'): boolean {
  const weights = new Map(
    (header ?? '').split(',').map((each) => {
      const [name = '', weight = 'q=1'] = each.split(';').map((part) => part.trim().toLowerCase());
      return [name, weight];
    }),
  );
  const weight = weights.get(coding) ?? weights.get('*');
  return weight !== undefined && !/^q=0(\.0*)?$/.test(weight);
}
