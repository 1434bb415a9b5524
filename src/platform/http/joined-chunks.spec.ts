import fc from 'fast-check';
import { JoinedChunks } from './joined-chunks.js';

describe('JoinedChunks', () => {
  it('are the bytes that came, in chunks of any size', () => {
    const size = fc.oneof(fc.nat(8), fc.integer({ min: 4_000, max: 4_200 }), fc.nat(70_000));
    fc.assert(
      fc.property(fc.array(size, { maxLength: 60 }), (sizes) => {
        const given = sizes.map((length, at) => Buffer.alloc(length, at + 1));
        const chunks = new JoinedChunks();
        for (const chunk of given) chunks.add(chunk);

        expect(chunks.length).toBe(Buffer.concat(given).length);
        expect(chunks.whole().equals(Buffer.concat(given))).toBe(true);
      }),
    );
  });
});
