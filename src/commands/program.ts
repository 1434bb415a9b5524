import { Command, Help } from 'commander';
import { SettingsRefused } from '../platform/settings/settings-loader.js';
import { VERSION } from '../platform/operations/version.js';
import { remark } from './output.js';

/**
 * A command, which returns its exit code. Its modules are loaded when it is run: those of the service take seconds, and most
 * commands need few of them.
 */
export const loaded =
  <A extends unknown[]>(load: () => Promise<(...args: A) => Promise<number>>) =>
  async (...args: A): Promise<void> => {
    process.exitCode = await (await load())(...args);
  };

const help = new Help();

/** Those below groups of commands, too. */
function commandsOf(command: Command): Command[] {
  return help.visibleCommands(command).flatMap((each) => {
    if (each.name() === 'help') return [];
    return each.commands.length === 0 ? [each] : commandsOf(each);
  });
}

/** With the group that it belongs to. */
function termOf(command: Command): string {
  const group = command.parent?.parent ? `${command.parent.name()} ` : '';
  return group + help.subcommandTerm(command);
}

/** Without commands, which inherit its exit codes: 0 fine, 1 findings or refused, 2 cannot read, cannot reach or wrong usage. */
export function newProgram(name: string, description: string): Command {
  const program = new Command(name).description(description).version(VERSION);
  const writeErr = (text: string): void => text.trimEnd().split('\n').forEach(remark);
  program.configureHelp({ visibleCommands: commandsOf, subcommandTerm: termOf });
  program.configureOutput({ writeErr, outputError: (text) => remark(text.trimEnd()) }).exitOverride((stop) => {
    process.exit(stop.exitCode === 0 ? 0 : 2);
  });
  return program;
}

/** Runs the command that the process was given. Exit code 78 (EX_CONFIG): settings. */
export async function runProgram(program: Command): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Of settings, each problem is a line.
    const [first = '', ...others] = error instanceof SettingsRefused ? message.split('\n') : [message];
    [`${program.name()}: ${first}`, ...others].forEach(remark);
    process.exit(error instanceof SettingsRefused ? 78 : 2);
  }
}
