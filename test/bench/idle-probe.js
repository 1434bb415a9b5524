// One run that publishes and runs after it for which nothing has changed, in a process of its own; prints seconds of each.
import { AclSyncService } from '../../dist/acl-sync/acl-sync.service.js';
import { PublishingModule } from '../../dist/acl-sync/publishing.module.js';
import { withModules } from '../../dist/commands/with-modules.js';

await withModules({ command: 'acl sync', module: PublishingModule.with }, async (modules) => {
  const sync = modules.get(AclSyncService);
  const run = async () => {
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    const result = await sync.run({ trigger: 'cli', by: { actor: null, origin: null }, lockTimeoutMs: 0 });
    const { user, system } = process.cpuUsage(cpu);
    const seconds = (performance.now() - began) / 1000;
    const outcome = result.kind === 'ended' ? result.outcome.kind : result.kind;
    return { outcome, seconds, cpu: (user + system) / 1e6 };
  };
  const runs = [];
  for (let i = 0; i <= Number(process.argv[2]); i++) runs.push(await run());
  console.log(JSON.stringify(runs));
});
