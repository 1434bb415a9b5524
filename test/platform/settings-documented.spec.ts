import { readFileSync } from 'node:fs';
import { parseSettings } from '../../src/platform/settings-parser.js';

describe('.env.example', () => {
  it('names exactly the settings that are read', () => {
    const documented = readFileSync('.env.example', 'utf8')
      .split('\n')
      .filter((line) => /^[A-Z]/.test(line))
      .map((line) => line.slice(0, line.indexOf('=')));
    const { names } = parseSettings({});

    expect([...documented].sort()).toEqual([...names].sort());
  });
});
