import { readFileSync } from 'node:fs';
import { LOG_MARKERS } from '../../kernel/log-marker.js';
import { parseSettings } from '../settings/settings-parser.js';
import {
  codeInGuide,
  commandBlocks,
  entryOf,
  headingsOf,
  proseLines,
  rowsOf,
  tableOf,
} from '../../../test/support/service/operations-guide.js';
import { FAULTS } from '../../../test/stack/chart/alert-scenarios.js';
import { sampleEnvironment } from '../../../test/support/service/sample-environment.js';

/** Variables of Node, the C library, OpenTelemetry and the engine's chart, and what the engine answers. */
const INVALID_CURSOR =
  /^(NODE_(OPTIONS|EXTRA_CA_CERTS)|MALLOC_ARENA_MAX|OTEL_[A-Z_]+|TRINO_SHARED_SECRET|INVALID_SESSION_PROPERTY|TABLE_NOT_FOUND)$/;

const names = (rows: readonly { name: string }[]): string[] => rows.map(({ name }) => name).sort();

describe('docs/operations.md', () => {
  it('explains exactly the log markers that there are', () => {
    expect(names(rowsOf('Log markers'))).toEqual([...LOG_MARKERS].sort());
  });

  it('explains exactly the alerts of the chart, in sections that an alert can lead to', () => {
    const template = readFileSync('helm/grantline/templates/prometheusrule.yaml', 'utf8');
    const alerts = [...template.matchAll(/^ *- alert: (\w+)$/gm)].map(([, alert]) => alert);
    expect(headingsOf('Alerts').sort()).toEqual(alerts.sort());
  });

  it('leads from an index to each alert, which says what it means, who is hit and what to do now', () => {
    const template = readFileSync('helm/grantline/templates/prometheusrule.yaml', 'utf8');
    const severities = new Map(
      Array.from(template.matchAll(/- alert: (\w+)\n[^]*?labels: \{\{ \$(\w+) \}\}/g), ([, alert, severity]) => [
        alert,
        severity,
      ]),
    );
    const index = tableOf('Index of alerts').map(([link = '', severity]) => {
      const [, alert = '', anchor] = /^\[(\w+)\]\(#(\w+)\)$/.exec(link) ?? [];
      expect(anchor).toBe(alert.toLowerCase());
      return [alert, severity];
    });
    expect(new Map(index as [string, string][])).toEqual(severities);
    for (const alert of headingsOf('Alerts')) {
      expect(`${alert}: ${entryOf(alert)}`).toMatch(
        /: \n\*\*Means\*\*\s[^]*\*\*Hit\*\*:\s[^]*\*\*Now\*\*,?\s[^]*```sh\n/,
      );
    }
  });

  it('tells after how many seconds which alert fires, as promtool has it', () => {
    const fires = FAULTS.flatMap(({ fault, fires }) =>
      Object.entries(fires).map(([alert, seconds]) => [fault, `[${alert}](#${alert.toLowerCase()})`, String(seconds)]),
    );
    expect(tableOf('What fires when a part fails').filter((cells) => cells.length === 3)).toEqual(fires);
  });

  it('changes replicas by values of the chart alone, as autoscalers and upgrades undo `kubectl scale`', () => {
    expect(commandBlocks().filter(({ script }) => /^\s*kubectl\b.*\bscale\b/m.test(script))).toEqual([]);
    const values = readFileSync('helm/grantline/values.yaml', 'utf8');
    const named = ['replicaCount', 'autoscaling', 'minReplicas', 'maxReplicas'];
    expect(named.filter((name) => !new RegExp(`^ *${name}:`, 'm').test(values))).toEqual([]);
    expect(named.filter((name) => !entryOf('GrantlinePasswordsTurnedAway').includes(`\`${name}`))).toEqual([]);
  });

  it('has short lines', () => {
    expect(proseLines().filter((line) => line.length > 120)).toEqual([]);
  });

  it('names settings that there are, with their defaults', () => {
    const defaults = sampleEnvironment();
    for (const { name, cells } of rowsOf('Settings that operators turn')) {
      expect(`${name} ${cells[1]}`).toBe(`${name} ${defaults[name] === '' ? '–' : defaults[name]}`);
    }
  });

  it('names no setting, marker, alert or metric that there is not', () => {
    const known = new Set<string>([...parseSettings({}).names, ...LOG_MARKERS, ...headingsOf('Alerts')]);
    const words = codeInGuide().flatMap(
      (code) => code.match(/\b(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|Grantline[A-Z]\w+)\b/g) ?? [],
    );
    expect(words.filter((word) => !known.has(word) && !INVALID_CURSOR.test(word))).toEqual([]);

    const metrics = new Set(names(rowsOf('Metrics')));
    const series = codeInGuide().flatMap(
      (code) =>
        code.match(
          /\bgrantline_[a-z_]+_(?:total|seconds|bytes|live|rules|length|confirmed|mismatch|running|available|version|broken)\b/g,
        ) ?? [],
    );
    expect(series.filter((name) => !metrics.has(name))).toEqual([]);
  });
});
