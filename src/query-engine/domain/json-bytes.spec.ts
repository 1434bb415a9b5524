import fc from 'fast-check';
import { isPlain } from './json-bytes.js';

describe('isPlain', () => {
  it('finds every backslash and control character, wherever the bytes lie', () => {
    const byte = fc.oneof(
      fc.constantFrom(0x00, 0x1f, 0x5c),
      ...[0x20, 0x21, 0x5b, 0x5d, 0x7f, 0x80, 0x9f, 0xdc, 0xff].map(fc.constant),
    );
    const mostlyPlain = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(0x20, 0x5b, 0x80, 0xff) }, byte);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3 }), fc.array(mostlyPlain, { maxLength: 20 }), (before, bytes) => {
        const all = Buffer.from([...before, ...bytes, 0x5c]);
        const part = all.subarray(before.length, before.length + bytes.length);

        expect(isPlain(part)).toBe(bytes.every((value) => value >= 0x20 && value !== 0x5c));
      }),
    );
  });
});
