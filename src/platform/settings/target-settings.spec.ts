import { parseSettings } from './settings-parser.js';

const GIVEN = { AUTH_SECRET_KEY: 'q8Zr2kT0vXw5Yb7Nc3Lm9Pd1Hs6Jf4Ga', ACL_METADATA_CATALOG: 'none' };
const CLUSTER = { ACL_TARGET: 'configmap', KUBERNETES_API_URL: 'https://api.example.org' };
const target = (name: string, given: object = {}) => ({
  ...{
    name,
    namespace: 'engine',
    configmap: 'rules',
    url: `https://${name}.example.org`,
    ca_file: '/ca',
    token_file: '/t',
  },
  ...given,
});

function targets(environment: Record<string, string>, file: unknown = null) {
  const { settings, problems } = parseSettings({ ...GIVEN, ...environment }, () =>
    typeof file === 'string' ? file : JSON.stringify(file),
  );
  const shown = settings.acl.targets.map((each) =>
    each.kind === 'file' ? each.kind : `${each.key} ${each.apiUrl} ${each.namespace}/${each.name}`,
  );
  return { shown, problems: problems.map(({ text }) => text) };
}

describe('the targets of the rules', () => {
  it('are a file, a ConfigMap, or several in the order of the setting', () => {
    expect(targets({})).toEqual({ shown: ['file'], problems: [] });
    const one = { ...CLUSTER, ACL_CONFIGMAP_NAMESPACE: 'engine', ACL_CONFIGMAP_NAME: 'rules' };
    const shown = 'configmap:engine/rules https://api.example.org engine/rules';
    expect(targets(one)).toEqual({ shown: [shown], problems: [] });
    expect(targets({ ...one, ACL_TARGET: 'configmap, file' })).toEqual({ shown: [shown, 'file'], problems: [] });
  });

  it('are ConfigMaps of this cluster by namespace and name', () => {
    expect(targets({ ...CLUSTER, ACL_CONFIGMAP_NAME: 'engine/rules,adhoc/rules' })).toEqual({
      shown: [
        'configmap:engine/rules https://api.example.org engine/rules',
        'configmap:adhoc/rules https://api.example.org adhoc/rules',
      ],
      problems: [],
    });
  });

  it('are ConfigMaps of other clusters by a file', () => {
    const given = { ACL_TARGET: 'configmap', ACL_CONFIGMAP_TARGETS_FILE: '/targets.json' };
    expect(targets(given, [target('north'), target('south', { url: 'https://south.example.org/' })])).toEqual({
      shown: [
        'configmap:north https://north.example.org engine/rules',
        'configmap:south https://south.example.org engine/rules',
      ],
      problems: [],
    });
  });

  it.each<[string, Record<string, string>, unknown, RegExp]>([
    ['an unknown target', { ACL_TARGET: 'file,s3' }, null, /^ACL_TARGET must be one of file, configmap/],
    ['a target twice', { ACL_TARGET: 'file,file' }, null, /^ACL_TARGET names file twice$/],
    [
      'a list beside a namespace',
      { ...CLUSTER, ACL_CONFIGMAP_NAMESPACE: 'engine', ACL_CONFIGMAP_NAME: 'a/rules,b/rules' },
      null,
      /^ACL_CONFIGMAP_NAMESPACE stands beside a list/,
    ],
    [
      'a list without namespaces',
      { ...CLUSTER, ACL_CONFIGMAP_NAME: 'a/rules,b' },
      null,
      /"b", which is no namespace\/name$/,
    ],
    ['no namespace', { ...CLUSTER, ACL_CONFIGMAP_NAME: 'rules' }, null, /^ACL_CONFIGMAP_NAMESPACE is required/],
    ['one twice', { ...CLUSTER, ACL_CONFIGMAP_NAME: 'a/rules,a/rules' }, null, /names configmap:a\/rules twice$/],
    [
      'a file beside names',
      { ...CLUSTER, ACL_CONFIGMAP_NAME: 'a/rules', ACL_CONFIGMAP_TARGETS_FILE: '/f' },
      [target('a')],
      /^ACL_CONFIGMAP_TARGETS_FILE and ACL_CONFIGMAP_NAME are both set$/,
    ],
    ['no JSON', { ...CLUSTER, ACL_CONFIGMAP_TARGETS_FILE: '/f' }, '{', /holds no JSON$/],
    ['no list', { ...CLUSTER, ACL_CONFIGMAP_TARGETS_FILE: '/f' }, {}, /must hold a list of ConfigMaps$/],
    [
      'no token',
      { ...CLUSTER, ACL_CONFIGMAP_TARGETS_FILE: '/f' },
      [target('a', { token_file: '' })],
      /entry 1 needs a text in token_file$/,
    ],
    [
      'a misspelt field',
      { ...CLUSTER, ACL_CONFIGMAP_TARGETS_FILE: '/f' },
      [target('a', { cafile: '/ca' })],
      /"cafile", which is unknown$/,
    ],
    [
      'no URL',
      { ...CLUSTER, ACL_CONFIGMAP_TARGETS_FILE: '/f' },
      [target('a', { url: 'ftp://a' })],
      /entry 1 needs a URL in url$/,
    ],
    [
      'a name twice',
      { ...CLUSTER, ACL_CONFIGMAP_TARGETS_FILE: '/f' },
      [target('a'), target('a', { url: 'https://b' })],
      /names configmap:a twice$/,
    ],
    [
      'a place twice',
      { ...CLUSTER, ACL_CONFIGMAP_TARGETS_FILE: '/f' },
      [target('a'), target('b', { url: 'https://a.example.org' })],
      /names https:\/\/a.example.org engine\/rules twice$/,
    ],
  ])('are refused with %s', (_, environment, file, problem) => {
    expect(targets(environment, file).problems).toEqual([expect.stringMatching(problem)]);
  });

  it.each([
    ['0.2', []],
    ['2.', [expect.stringMatching(/^ACL_SYNC_ON_CHANGE_SECONDS must be a number from 0 to 3600/)]],
    ['1e1', [expect.stringMatching(/^ACL_SYNC_ON_CHANGE_SECONDS/)]],
  ])('are written %s s after a change', (seconds, problems) => {
    expect(targets({ ACL_SYNC_ON_CHANGE_SECONDS: seconds }).problems).toEqual(problems);
  });
});
