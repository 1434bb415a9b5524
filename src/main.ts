#!/usr/bin/env node
import 'reflect-metadata';
import { Command, Option } from 'commander';
import { remark } from './commands/output.js';
import { SettingsRefused } from './platform/settings-loader.js';
import { VERSION } from './platform/version.js';

/** A command whose modules are loaded when it is run: those of the service take seconds, and most commands need few of them. */
const loaded =
  <A extends unknown[]>(load: () => Promise<(...args: A) => Promise<void>>) =>
  async (...args: A): Promise<void> =>
    (await load())(...args);

/** An option that may be given several times, and may hold a comma list. */
const listed = (value: string, before: string[] = []): string[] => [
  ...before,
  ...value.split(',').map((name) => name.trim()),
];

const program = new Command('grantline')
  .description('Who may see which data, compiled, proved and published.')
  .version(VERSION);

// Before the commands, which inherit it. Exit codes: 0 fine, 1 findings or refused, 2 cannot read, cannot reach or wrong
// usage, 78 settings (EX_CONFIG).
program.configureOutput({ writeErr: (text) => remark(text.trimEnd()) }).exitOverride((stop) => {
  process.exit(stop.exitCode === 0 ? 0 : 2);
});

program
  .command('serve')
  .description('run the service')
  .action(loaded(async () => (await import('./commands/serve.js')).serve));
program
  .command('migrate')
  .description('apply pending migrations and stop')
  .action(loaded(async () => (await import('./commands/migrate.js')).applyMigrations));
program
  .command('users')
  .description('accounts')
  .command('create-admin')
  .description('make an administrator; the password comes from standard input')
  .requiredOption('--username <name>', '3 to 64 letters, digits and underscores')
  .requiredOption('--email <address>')
  .option('--password-file <file>', 'read the password from a file instead')
  .option('--json', 'print the account as JSON')
  .action(loaded(async () => (await import('./commands/create-administrator.js')).createAdministrator));

const acl = program.command('acl').description('the rules that the engine enforces');
acl
  .command('sync')
  .description('one run: compile, prove, publish')
  .option('--dry-run', 'only say what would be published')
  .option('--json', 'print the outcome as JSON')
  .action(loaded(async () => (await import('./commands/acl-sync.js')).syncRules));
acl
  .command('compile')
  .description('make rules.json out of a snapshot file, through every check')
  .requiredOption('--snapshot <file>', 'JSON or YAML')
  .requiredOption('--out <directory>')
  .option('--json', 'print a summary as JSON')
  .action(loaded(async () => (await import('./commands/acl-compile.js')).compileSnapshot));
acl
  .command('import')
  .argument('<rules>', 'an existing rules file, or a manifest with one')
  .description('make a snapshot file that means the same for the users of a list, proved by comparison')
  .requiredOption('--users <file>', 'one user a line, with groups behind a colon: ana: analysts, sales')
  .option('--out <file>', 'JSON, or YAML by its name; default: standard output')
  .option('--json', 'print the snapshot and what grants cannot say as JSON')
  .action(loaded(async () => (await import('./commands/acl-import.js')).importRulesFile));
acl
  .command('diff')
  .argument('<before>', 'a rules file, or a manifest with one')
  .argument('<after>', 'another one')
  .description('what changes from one rules file to another: rules, and who gains or loses which access')
  .option('--users <file>', 'only for these, one a line, with groups behind a colon: ana: analysts, sales')
  .option('--json', 'print the changes as JSON')
  .action(loaded(async () => (await import('./commands/acl-diff.js')).diffRulesFiles));
acl
  .command('explain')
  .description('whether somebody may do something, the rule that decides, and why')
  .requiredOption('--user <name>', 'an account or an engine principal, by its name')
  .requiredOption('--catalog <name>')
  .requiredOption('--privilege <privilege>', 'SELECT, INSERT, DELETE, UPDATE, OWNERSHIP or GRANT_SELECT')
  .option('--schema <name>')
  .option('--table <name>')
  .option('--column <name>')
  .option('--rules <file>', 'ask this rules file, without a database')
  .option('--json', 'print the answer as JSON')
  .action(loaded(async () => (await import('./commands/acl-explain.js')).explainAccess));
acl
  .command('status')
  .description('last run, published and live version, what waits for an approval')
  .option('--json', 'print the status as JSON')
  .action(loaded(async () => (await import('./commands/acl-status.js')).showStatus));

acl
  .command('approve')
  .argument('<hash>', 'of the text that waits, as acl status shows it')
  .description('let an unexplained change pass, and publish it')
  .option('--json', 'print the outcome of the run as JSON')
  .action(loaded(async () => (await import('./commands/acl-approve.js')).approveChange));
acl
  .command('restore')
  .argument('[version]', 'one that was published')
  .description('publish an older version for some hours, or end that')
  .option('--reason <text>', 'for the status, the log and the audit trail; required with a version')
  .option('--hours <number>', 'how long it is in effect, 1 to 24; default 24')
  .option('--end', 'end the restore in effect, and publish what the grants say')
  .option('--json', 'print the outcome of the run as JSON')
  .action(loaded(async () => (await import('./commands/acl-restore.js')).restoreVersion));

acl
  .command('check')
  .description('find what is wrong with any rules file, or with the rules in a manifest')
  .argument('[files...]', 'rules.json, a ConfigMap or a List in YAML or JSON, Helm output; - for standard input')
  .addOption(new Option('--format <format>').choices(['text', 'json', 'sarif']).default('text'))
  .option('--explain <code>', 'what a finding means')
  .option('--service-account <names>', 'must have what the catalogs below say (ACL_SERVICE_ACCOUNTS)', listed)
  .option('--writable-catalog <names>', 'where they may write (ACL_WRITABLE_CATALOGS)', listed)
  .option('--readable-catalog <names>', 'where they may read (ACL_READABLE_CATALOGS)', listed)
  .option('--metadata-catalog <name>', 'where nobody may do anything (ACL_METADATA_CATALOG)')
  .action(loaded(async () => (await import('./commands/acl-check.js')).checkFiles));

const snapshot = program.command('snapshot').description('grants, groups and policies as a file that is kept in git');
snapshot
  .command('export')
  .description('print what is live: by name, without ids and settings, ordered by content')
  .addOption(new Option('--format <format>', "default: json, or by the file's name").choices(['json', 'yaml']))
  .option('--out <file>', 'write it there, whole or not at all; default: standard output')
  .action(loaded(async () => (await import('./commands/snapshot-files.js')).exportSnapshotFile));
snapshot
  .command('apply')
  .argument('<file>', 'JSON or YAML, as export prints it')
  .description('make groups, members, grants and policies what the file says, in one transaction')
  .option('--dry-run', 'only print the plan; exit code 1 where something would change')
  .option('--prune', 'also remove what the file does not name')
  .option('--json', 'print the plan as JSON')
  .action(loaded(async () => (await import('./commands/snapshot-files.js')).applySnapshotFile));

program
  .command('verify-retired-route')
  .argument('<url>', 'where the engine could once be reached')
  .description('run a real SQL statement there: nothing of an engine may answer')
  .option('--json', 'print the verdict as JSON')
  .action(loaded(async () => (await import('./commands/verify-retired-route.js')).verifyRetiredRoute));

try {
  await program.parseAsync();
} catch (error) {
  remark(`grantline: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(error instanceof SettingsRefused ? 78 : 2);
}
