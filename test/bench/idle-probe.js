// One run that publishes and runs after it for which nothing has changed, in a process of its own; prints seconds of each.
/**
 * @param {string} path below dist/, which need not be there when types are checked
 * @returns {Promise<any>}
 */
const built = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);

const { AclSyncService } = await built('acl-sync/acl-sync.service.js');
const { PublishingModule } = await built('acl-sync/publishing.module.js');
const { withModules } = await built('commands/with-modules.js');

/** @param {any} modules */
const measure = async (modules) => {
  const sync = modules.get(AclSyncService);
  const runs = [];
  for (let i = 0; i <= Number(process.argv[2]); i++) {
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    const result = await sync.run({ trigger: 'cli', by: { actor: null, origin: null }, lockTimeoutMs: 0 });
    const { user, system } = process.cpuUsage(cpu);
    const outcome = result.kind === 'ended' ? result.outcome.kind : result.kind;
    runs.push({ outcome, seconds: (performance.now() - began) / 1000, cpu: (user + system) / 1e6 });
  }
  console.log(JSON.stringify(runs));
};
await withModules('acl sync', [PublishingModule], measure);
