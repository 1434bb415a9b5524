import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { applyDecorators, type CallHandler, type ExecutionContext, Injectable, UseInterceptors } from '@nestjs/common';
import type { NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { concatMap, type Observable } from 'rxjs';
import { acceptsCoding } from './accepted-coding.js';

const compress = promisify(gzip);

/** Bytes. A smaller body fits in a packet or two as it is. */
const SMALLEST = 2_048;

@Injectable()
class Compression implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { headers } = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    void reply.header('Vary', 'Accept-Encoding');
    if (!acceptsCoding(headers['accept-encoding'], 'gzip')) return next.handle();
    return next.handle().pipe(concatMap((body: unknown) => encoded(body, reply)));
  }
}

async function encoded(body: unknown, reply: FastifyReply): Promise<unknown> {
  const text = JSON.stringify(body);
  if (text.length < SMALLEST) return body;
  void reply.type('application/json; charset=utf-8').header('Content-Encoding', 'gzip');
  return compress(text, { level: 4 });
}

/** For routes whose pages of names are long and repeat themselves. They hold no secret: a length tells no more than the names. */
export const Compressed = (): MethodDecorator => applyDecorators(UseInterceptors(Compression));
