import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const compress = promisify(gzip);

/** A body that never changes: stored once, compressed once. */
export class StaticBody {
  private readonly plain: Buffer;
  private compressed: Promise<Buffer> | undefined;

  constructor(
    content: Buffer | string,
    private readonly type: string,
  ) {
    this.plain = Buffer.from(content);
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    void reply.type(this.type).header('Vary', 'Accept-Encoding');
    if (!acceptsGzip(request.headers['accept-encoding'])) return reply.send(this.plain);
    this.compressed ??= compress(this.plain);
    return reply.header('Content-Encoding', 'gzip').send(await this.compressed);
  }
}

/** RFC 9110 section 12.5.3: `gzip` named, or `*` where it is not, and not with the weight 0. */
export function acceptsGzip(header = ''): boolean {
  const weights = new Map(
    header.split(',').map((coding) => {
      const [name = '', weight = 'q=1'] = coding.split(';').map((part) => part.trim().toLowerCase());
      return [name, weight];
    }),
  );
  const weight = weights.get('gzip') ?? weights.get('*');
  return weight !== undefined && !/^q=0(\.0*)?$/.test(weight);
}
