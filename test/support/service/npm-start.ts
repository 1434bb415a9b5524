import { type ChildProcess, spawn } from 'node:child_process';
import { copyBuild } from './copied-build.js';
import { recordOutput } from './secrets.js';

/** `npm start` of a built checkout in that folder, as a shell starts it: npm and the service in one process group. */
export class NpmStart {
  private output = '';
  private readonly npm: ChildProcess;
  readonly ended: Promise<number | null>;

  constructor(folder: string, environment: Record<string, string>) {
    copyBuild(folder);
    // Without the build before it, which this checkout has had.
    this.npm = spawn('npm', ['start', '--ignore-scripts'], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', LOG_FORMAT: 'json', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    recordOutput('npm start', environment, () => this.output);
    for (const stream of [this.npm.stdout, this.npm.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.ended = new Promise((done) => this.npm.on('close', (code) => done(code)));
  }

  /** The API's address, once the service listens. */
  async url(): Promise<string> {
    for (;;) {
      const [, url] = /listening on (http:\/\/[^"\s]+)/.exec(this.output) ?? [];
      if (url !== undefined) return url.replace('localhost', '127.0.0.1');
      if (this.npm.exitCode !== null) throw new Error(`npm start has ended:\n${this.output}`);
      await new Promise((look) => setTimeout(look, 50));
    }
  }

  /** What a terminal does for Ctrl-C: the whole process group gets the signal, and npm forwards its own. */
  signalGroup(name: NodeJS.Signals): void {
    process.kill(-this.groupId, name);
  }

  /** Whether any process of the group is left. */
  get hasLeftovers(): boolean {
    try {
      return process.kill(-this.groupId, 0);
    } catch {
      return false;
    }
  }

  private get groupId(): number {
    if (this.npm.pid === undefined) throw new Error('npm did not start');
    return this.npm.pid;
  }
}
