#!/usr/bin/env node
import { addRulesCommands, newProgram, runProgram } from './commands/program.js';

const program = newProgram('grantline-rules', 'Trino’s rules files, checked, compared and imported.');
addRulesCommands(program);
await runProgram(program);
