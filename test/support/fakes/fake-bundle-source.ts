import type { PublishedBundle } from '../../../src/acl-sync/domain/preparation-tasks.js';
import { BundleSource, type BundleVersion } from '../../../src/opa/bundle-source.js';

/** Published versions of a test. */
export class FakeBundleSource extends BundleSource {
  private version: BundleVersion | null = null;
  /** Revisions of which a bundle was made. */
  readonly made: string[] = [];
  /** The tags that showed a newer version than the database has. */
  readonly found: string[] = [];
  failure: Error | null = null;
  /** Of versions of another database. */
  readonly foreignHash = 'f0f0f0f0f0f0';

  private look: () => void = () => undefined;

  constructor() {
    super(...([] as unknown as ConstructorParameters<typeof BundleSource>));
  }

  /** @param isHere whether this process publishes it */
  publish(version: number, isHere: boolean): void {
    this.version = { version, revision: `v${version}-0123456789ab` };
    if (isHere) this.look();
  }

  override watch(look: () => void): void {
    this.look = look;
  }

  override newest(): Promise<BundleVersion | null> {
    return Promise.resolve(this.version);
  }

  override recordFound(tags: string): Promise<void> {
    this.found.push(tags);
    return Promise.resolve();
  }

  override isContradicted(tags: string): Promise<boolean> {
    return this.failure === null || tags === ''
      ? Promise.resolve(tags.includes(this.foreignHash))
      : Promise.reject(this.failure);
  }

  override makeBundle({ revision }: BundleVersion): Promise<PublishedBundle> {
    this.made.push(revision);
    if (this.failure !== null) return Promise.reject(this.failure);
    return Promise.resolve({ tag: `"${revision}"`, archive: Buffer.from(`the bundle ${revision}`) });
  }
}
