#!/usr/bin/env node
import { newProgram, runProgram } from './commands/program.js';
import { addRulesCommands } from './commands/rules-commands.js';

const program = newProgram('grantline-rules', 'Trino’s rules files, checked, compared and imported.');
addRulesCommands(program);
await runProgram(program);
