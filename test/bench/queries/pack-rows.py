"""Packs its input as the engine packs a segment: `pack-rows.py json+lz4|json+zstd`."""
import sys

import lz4.block
import zstandard

rows = sys.stdin.buffer.read()
if sys.argv[1] == "json+lz4":
    sys.stdout.buffer.write(lz4.block.compress(rows, store_size=False))
else:
    sys.stdout.buffer.write(zstandard.ZstdCompressor(level=3).compress(rows))
