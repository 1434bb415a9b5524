import { Command, Help, InvalidArgumentError, Option } from 'commander';
import { SettingsRefused } from '../platform/settings/settings-loader.js';
import { VERSION } from '../platform/operations/version.js';
import { printRemark, UnusableInput, withProgressThread } from './output.js';
import { SEVERITIES } from '../trino-rules/document/finding.js';

/**
 * The action of a command, which returns its exit code. Loads the command's modules only when it runs, because all modules of the service
 * take seconds and most commands need few.
 */
export const loadAction =
  <A extends unknown[]>(load: () => Promise<(...args: A) => Promise<number>>) =>
  async (...args: A): Promise<void> => {
    process.exitCode = await (await load())(...args);
  };

/** The action of a command that computes without a pause. @param label what it does, in its reports of progress */
export const computeAction = <A extends unknown[]>(
  label: string,
  load: () => Promise<(...args: A) => Promise<number>>,
) =>
  loadAction(async () => {
    const compute = await load();
    return (...args: A) => withProgressThread(label, () => compute(...args));
  });

const help = new Help();

function commandsOf(command: Command): Command[] {
  return help.visibleCommands(command).flatMap((each) => {
    if (each.name() === 'help') return [];
    return each.commands.length === 0 ? [each] : commandsOf(each);
  });
}

/** A program without commands yet. Exit codes of its commands: 0 fine, 1 findings or refused, 2 unreadable, unreachable or wrong usage. */
export function newProgram(name: string, description: string): Command {
  const program = new Command(name).description(description).version(VERSION);
  const writeErr = (text: string): void => text.trimEnd().split('\n').forEach(printRemark);
  const subcommandTerm = (command: Command): string =>
    (command.parent?.parent ? `${command.parent.name()} ` : '') + help.subcommandTerm(command);
  program.configureHelp({ visibleCommands: commandsOf, subcommandTerm });
  program.configureOutput({ writeErr, outputError: (text) => printRemark(text.trimEnd()) }).exitOverride((error) => {
    process.exit(error.exitCode === 0 ? 0 : 2);
  });
  return program;
}

/** Runs the command of the process's arguments. Exit code 78 (EX_CONFIG): invalid settings. */
export async function runProgram(program: Command): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof UnusableInput) {
      error.problems.forEach(printRemark);
      process.exit(2);
    }
    const message = error instanceof Error ? error.message : String(error);
    // The message about refused settings has one line for each problem.
    const [firstLine = '', ...otherLines] = error instanceof SettingsRefused ? message.split('\n') : [message];
    [`${program.name()}: ${firstLine}`, ...otherLines].forEach(printRemark);
    process.exit(error instanceof SettingsRefused ? 78 : 2);
  }
}

/** Collects an option that can be given several times, each time with several values separated by commas. */
const collectList = (value: string, previousValues: string[] = []): string[] => [
  ...previousValues,
  ...value.split(',').map((name) => name.trim()),
];

const parseRelease = (value: string): number => {
  if (!/^[0-9]{3,4}$/.test(value)) throw new InvalidArgumentError('It must be a release of Trino, such as 484.');
  return Number(value);
};

/** Adds the commands that read rules files: some of `grantline acl …`, all of `grantline-rules`. They load no module of the service. */
export function addRulesCommands(parent: Command): void {
  parent
    .command('check')
    .description('find what is wrong with any rules file, or with the rules in a manifest')
    .argument(
      '[files...]',
      'rules.json, a ConfigMap or a List in YAML or JSON, Helm output or values; - for standard input',
    )
    .addOption(new Option('--format <format>').choices(['text', 'json', 'sarif']).default('text'))
    .addOption(
      new Option('--fail-on <severity>', 'exit code 1 from this severity up').choices(SEVERITIES).default('error'),
    )
    .option('--explain <code>', 'what a finding means')
    .option('--service-account <names>', 'must have what the catalogs below say (ACL_SERVICE_ACCOUNTS)', collectList)
    .option('--writable-catalog <names>', 'where they may write (ACL_WRITABLE_CATALOGS)', collectList)
    .option('--readable-catalog <names>', 'where they may read (ACL_READABLE_CATALOGS)', collectList)
    .option('--metadata-catalog <name>', 'where nobody may do anything (ACL_METADATA_CATALOG)')
    .option(
      '--external-table-catalog <names>',
      'with tables over the files of others (ACL_EXTERNAL_TABLE_CATALOGS)',
      collectList,
    )
    .option('--raw-column-catalog <names>', 'with raw rows in columns (ACL_RAW_COLUMN_CATALOGS)', collectList)
    .option('--single-catalog', 'the files are the rules of a single catalog (<connector>.security=file)')
    .option('--trino <version>', 'the release of the engine, such as 484', parseRelease)
    .action(computeAction('checking', async () => (await import('./acl-check.js')).checkFiles));

  parent
    .command('diff')
    .argument('<before>', 'a rules file, or a manifest with one')
    .argument('<after>', 'another one')
    .description('what changes from one rules file to another: rules, and who gains or loses which access')
    .option('--users <file>', 'only for these, one a line, with groups behind a colon: ana: analysts, sales')
    .option('--json', 'print the changes as JSON')
    .action(computeAction('comparing', async () => (await import('./acl-diff.js')).diffRulesFiles));
  parent
    .command('import')
    .argument('<rules>', 'an existing rules file, or a manifest with one')
    .description('make a snapshot file that means the same for the users of a list, proved by comparison')
    .requiredOption('--users <file>', 'one user a line, with groups behind a colon: ana: analysts, sales')
    .option('--catalog <file>', 'what the engine has, for patterns of names: catalog.schema.table a line, or CSV')
    .option('--out <file>', 'JSON, or YAML by its name; default: standard output')
    .option('--json', 'print the snapshot and what grants cannot say as JSON')
    .action(computeAction('importing', async () => (await import('./acl-import.js')).importRulesFile));
  parent
    .command('test')
    .argument('<files...>', 'rules files, or manifests with one')
    .description('judge guarantees by any rules file: exit code 1 if one is broken, with who, where and by which rule')
    .requiredOption('--guarantees <file>', 'a snapshot file, of which only guarantees is read')
    .option('--users <file>', 'one user a line, with groups behind a colon: ana: analysts, sales')
    .option('--service-account <names>', 'no guarantee is about these (ACL_SERVICE_ACCOUNTS)', collectList)
    .option('--metadata-catalog <name>', 'not a part of everything (ACL_METADATA_CATALOG)')
    .addOption(new Option('--format <format>').choices(['text', 'json', 'sarif']).default('text'))
    .action(computeAction('judging', async () => (await import('./acl-test.js')).testGuarantees));
}
