import { parseSettings } from './settings-parser.js';
import { sampleEnvironment } from '../../../test/support/service/sample-environment.js';

describe('.env.example', () => {
  it('names exactly the settings that are read', () => {
    const { names } = parseSettings({});

    expect(Object.keys(sampleEnvironment()).sort()).toEqual([...names].sort());
  });

  it('has the default of each, without comments behind values', () => {
    expect(parseSettings(sampleEnvironment())).toEqual(parseSettings({}));
  });
});
