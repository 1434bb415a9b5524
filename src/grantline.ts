#!/usr/bin/env node
import 'reflect-metadata';
import { InvalidArgumentError, Option } from 'commander';
import { addRulesCommands, computeAction, loadAction, newProgram, runProgram } from './commands/program.js';
import { EXPLAINED_PRIVILEGES } from './commands/explain-question.js';

const program = newProgram('grantline', 'Who may see which data, compiled, proved and published.');

const urlOption = () =>
  new Option(
    '--url <address>',
    'work over the API of the service there, with the API token in GRANTLINE_TOKEN; default: GRANTLINE_URL',
  );
const tokenFileOption = () =>
  new Option('--token-file <file>', 'with --url: read the token from a file; default: GRANTLINE_TOKEN_FILE');

const parseBytes = (value: string): string => {
  if (/^[1-9]\d{0,11}$/.test(value)) return value;
  throw new InvalidArgumentError('It must be a whole number of bytes.');
};

program
  .command('serve')
  .description('run the service')
  .action(loadAction(async () => (await import('./commands/serve.js')).serve));
program
  .command('migrate')
  .description('apply pending migrations and stop')
  .action(loadAction(async () => (await import('./commands/with-database.js')).applyMigrations));
const usersCommand = program.command('users').description('accounts');
usersCommand
  .command('create-admin')
  .description('make an administrator; the password comes from standard input')
  .requiredOption('--username <name>', '3 to 64 letters, digits and underscores')
  .requiredOption('--email <address>')
  .option('--password-file <file>', 'read the password from a file instead')
  .option('--json', 'print the account as JSON')
  .action(loadAction(async () => (await import('./commands/create-administrator.js')).createAdministrator));
usersCommand
  .command('import')
  .argument(
    '<file>',
    'a user a line, with an e-mail address, and groups behind a colon: ana <ana@example.org>: analysts',
  )
  .description('make accounts without passwords for a list, and fill groups with them, in one transaction')
  .option('--rules <file>', 'that of acl import: whom it takes for programs gets no account')
  .option('--with-registered', 'take accounts with passwords, which anybody may have registered, for these people')
  .option('--dry-run', 'only print the plan; exit code 1 where something would change')
  .option('--json', 'print the plan as JSON')
  .action(loadAction(async () => (await import('./commands/users-import.js')).importUsers));

const acl = program.command('acl').description('the rules that the engine enforces');
addRulesCommands(acl);
acl
  .command('sync')
  .description('one run: compile, prove, publish')
  .option('--dry-run', 'only say what would be published')
  .option('--json', 'print the outcome as JSON')
  .addOption(urlOption())
  .addOption(tokenFileOption())
  .action(loadAction(async () => (await import('./commands/acl-sync.js')).syncRules));
acl
  .command('compile')
  .description('make rules.json, or a bundle for OPA, out of a snapshot file, through every check')
  .requiredOption('--snapshot <file>', 'JSON or YAML')
  .requiredOption('--out <directory>')
  .addOption(new Option('--target <target>', 'opa: grantline.tar.gz').choices(['rules', 'opa']).default('rules'))
  .option(
    '--signing-key <file>',
    'with --target opa: private key in PEM, RSA or P-256; without it the bundle is unsigned',
  )
  .option('--max-bytes <number>', 'refuse early what is longer; a ConfigMap holds 1048576', parseBytes)
  .option('--json', 'print a summary as JSON')
  .action(computeAction('compiling', async () => (await import('./commands/acl-compile.js')).compileSnapshot));
acl
  .command('explain')
  .description('whether somebody may do something, the rule that decides, and why')
  .requiredOption('--user <name>', 'an account or an engine principal, by its name')
  .requiredOption('--privilege <privilege>', `one of ${EXPLAINED_PRIVILEGES.join(', ')}`)
  .option('--catalog <name>')
  .option('--schema <name>')
  .option('--table <name>')
  .option('--column <name>')
  .option('--routine <name>', 'a function or a procedure')
  .option('--property <name>', 'a session property')
  .option('--as <user>', 'whom the user would act as')
  .option('--of <user>', 'whose queries; default: of any other user')
  .option('--rules <file>', 'ask this rules file, or a manifest with one, without a database')
  .option('--users <file>', 'with --rules: groups, one user a line: ana: analysts, sales')
  .option('--json', 'print the answer as JSON')
  .addOption(urlOption())
  .addOption(tokenFileOption())
  .action(loadAction(async () => (await import('./commands/acl-explain.js')).explainAccess));
acl
  .command('status')
  .description('last run, published and live version, what waits for an approval')
  .option('--json', 'print the status as JSON')
  .addOption(urlOption())
  .addOption(tokenFileOption())
  .action(loadAction(async () => (await import('./commands/acl-sync.js')).showStatus));

acl
  .command('approve')
  .argument('<hash>', 'of the change that waits, as acl status shows it')
  .description('let an unexplained change pass, and publish it')
  .option('--json', 'print the outcome of the run as JSON')
  .action(loadAction(async () => (await import('./commands/from-database.js')).approveChange));
acl
  .command('restore')
  .argument('[version]', 'one that was published')
  .description('publish an older version for some hours, or end that')
  .option('--reason <text>', 'for the status, the log and the audit trail; required with a version')
  .option('--hours <number>', 'how long it is in effect, 1 to 24; default 24')
  .option('--end', 'end the restore in effect, and publish what the grants say')
  .option('--json', 'print the outcome of the run as JSON')
  .action(loadAction(async () => (await import('./commands/from-database.js')).restoreVersion));

const snapshot = program.command('snapshot').description('grants, groups and policies as a file that is kept in git');
snapshot
  .command('export')
  .description('print what is live: by name, without ids and settings, ordered by content')
  .addOption(new Option('--format <format>', "default: json, or by the file's name").choices(['json', 'yaml']))
  .option('--out <file>', 'write it there, whole or not at all; default: standard output')
  .addOption(urlOption())
  .addOption(tokenFileOption())
  .action(loadAction(async () => (await import('./commands/snapshot-files.js')).exportSnapshotFile));
snapshot
  .command('apply')
  .argument('<file>', 'JSON or YAML, as export prints it')
  .description('make groups, members, grants and policies what the file says, in one transaction')
  .option('--dry-run', 'only print the plan; exit code 1 where something would change')
  .option('--prune', 'also remove what the file does not name')
  .option('--json', 'print the plan as JSON')
  .addOption(urlOption())
  .addOption(tokenFileOption())
  .action(loadAction(async () => (await import('./commands/snapshot-files.js')).applySnapshotFile));

program
  .command('verify-retired-route')
  .argument('<url>', 'where the engine could once be reached')
  .description('run a real SQL statement there: nothing of an engine may answer')
  .option('--json', 'print the verdict as JSON')
  .action(loadAction(async () => (await import('./commands/verify-retired-route.js')).verifyRetiredRoute));

await runProgram(program);
