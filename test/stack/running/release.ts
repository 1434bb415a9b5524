import { apply } from '../chart/cluster-objects.js';
import { only, podsIn, type Manifest, type RenderedPod } from '../chart/manifest.js';
import { render, RELEASE_NAMESPACE } from '../chart/rendering.js';
import type { ClusterStack } from '../stack.js';

/** When the service publishes. By default each publication has one cause: there is no schedule within a run of the specs. */
export type Runs = 'when-asked' | 'on-change' | 'by-schedule';

const RUNS: Record<Runs, readonly string[]> = {
  'when-asked': ['--set=sync.runner=cronjob'],
  'on-change': ['--set=sync.runner=deployment', '--set=sync.schedule=0 0 1 1 *'],
  'by-schedule': ['--set=sync.runner=deployment'],
};

/** Grantline's chart, rendered for this run and brought to the API server. */
export class Release {
  readonly namespace = RELEASE_NAMESPACE;

  private constructor(private readonly pods: readonly RenderedPod[]) {}

  /**
   * Applies what the chart renders, all but what runs by itself: what a pod would do is done here.
   * @param set one of the chart's own value sets
   * @param settings that differ from it, under their own names
   * @param secrets what the Secrets that the value set names hold
   */
  static async install(
    stack: ClusterStack,
    set: string,
    settings: Record<string, string | number> = {},
    secrets: Record<string, Record<string, string>> = {},
    runs: Runs = 'when-asked',
  ): Promise<Release> {
    const own = Object.entries(settings).map(([name, value]) => `--set-json=settings.${name}=${JSON.stringify(value)}`);
    const more = [...own, ...RUNS[runs]];
    const { objects } = await render(stack, set, { more });
    const made = Object.entries(secrets).map(([name, stringData]): Manifest => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: RELEASE_NAMESPACE },
      stringData,
    }));
    await apply(stack, [...made, ...objects.filter(({ kind }) => kind !== 'Job' && kind !== 'Pod')]);
    return new Release(podsIn(objects));
  }

  pod(component: string): RenderedPod {
    return only(
      this.pods.filter((pod) => pod.component === component),
      `a pod of the component ${component}`,
    );
  }
}
