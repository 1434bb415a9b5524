import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readInputFile } from './input-file.js';

describe('a file that somebody names', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'input-file-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const read = (name: string, maxBytes = 1_000): string => {
    const file = readInputFile(join(folder, name), maxBytes);
    return file.kind === 'read' ? file.bytes.toString() : `refused: ${file.reason}`;
  };
  const pipe = (): void => {
    spawnSync('mkfifo', [join(folder, 'pipe')]);
  };

  it('is read whole', () => {
    writeFileSync(join(folder, 'file'), 'content');
    expect(read('file')).toBe('content');
  });

  it('may be a pipe, once somebody writes to it', async () => {
    pipe();
    const writer = spawn('sh', ['-c', 'printf content > "$1"', 'sh', join(folder, 'pipe')], { stdio: 'ignore' });
    const written = new Promise((ended) => writer.on('close', ended));
    expect(read('pipe')).toBe('content');
    expect(await written).toBe(0);
  });

  it('is given up at the limit, also where its size is not known before', async () => {
    writeFileSync(join(folder, 'file'), '');
    truncateSync(join(folder, 'file'), 3_000_000_000);
    expect(read('file', 4_000_000)).toBe('refused: has more than the 4 MB that are read');
    pipe();
    const writer = spawn('sh', ['-c', 'exec yes > "$1"', 'sh', join(folder, 'pipe')], { stdio: 'ignore' });
    const ended = new Promise((gone) => writer.on('close', gone));
    expect(read('pipe', 64_000)).toBe('refused: has more than the 64 kB that are read');
    await ended;
  });

  it('is a file, or a pipe', async () => {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(join(folder, 'socket'), listening));
    const answers = [read('socket'), read('.'), read('none')];
    await new Promise((closed) => server.close(closed));
    expect(answers).toEqual([
      'refused: is a socket or a device',
      'refused: is a directory',
      'refused: ENOENT: no such file or directory',
    ]);
    for (const device of ['/dev/zero', '/dev/null'])
      expect(readInputFile(device, 1_000)).toEqual({ kind: 'refused', reason: 'is a device' });
  });
});
