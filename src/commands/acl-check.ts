import { loadServiceSettings } from '../platform/settings/settings-loader.js';
import { checkCodes, checkOf } from '../rules-files/check/checks.js';
import type { ServiceSettings } from '../rules-files/check/file-invariants.js';
import { SEVERITIES, type Severity } from '../trino-rules/document/finding.js';
import { type CheckedFile, checkFile, unreadableFile } from './check/check-file.js';
import { reportLines, sarifReport } from './check/reports.js';
import { readInputFile } from '../platform/files/input-file.js';
import { print, printJson } from './output.js';

interface Options {
  format: string;
  failOn: Severity;
  explain?: string;
  serviceAccount?: string[];
  writableCatalog?: string[];
  readableCatalog?: string[];
  metadataCatalog?: string;
  externalTableCatalog?: string[];
  rawColumnCatalog?: string[];
  singleCatalog?: true;
  trino?: number;
}

/**
 * Checks rules files, or manifests with rules in them, and prints findings. Exit code 0: no finding as severe as `failOn`; 1: at least
 * one; 2: a file could not be read (the other files are checked nevertheless), or wrong usage.
 */
export async function checkFiles(names: string[], options: Options): Promise<number> {
  if (options.explain !== undefined) return explainCode(options.explain);
  if (names.length === 0) throw new Error('name at least one file, or - for standard input');
  const settings = serviceSettings(options);
  const files: CheckedFile[] = [];
  for (const name of names) {
    const file = readInputFile(name === '-' ? 0 : name);
    const isRead = file.kind === 'read';
    files.push(isRead ? await checkFile(name, file.bytes, settings) : unreadableFile(name, file.reason));
  }
  const findings = files.flatMap((file) => file.findings);
  switch (options.format) {
    case 'json':
      printJson({ findings, files: names });
      break;
    case 'sarif':
      printJson(sarifReport(files), 2);
      break;
    default:
      print(reportLines(files));
  }
  const failingSeverities = SEVERITIES.slice(0, SEVERITIES.indexOf(options.failOn) + 1);
  const hasUnreadableFile = findings.some(({ code }) => code === 'file-unreadable');
  return hasUnreadableFile ? 2 : findings.some(({ severity }) => failingSeverities.includes(severity)) ? 1 : 0;
}

function explainCode(code: string): number {
  const check = checkOf(code);
  if (check === null) throw new Error(`there is no finding "${code}"; there are ${checkCodes().join(', ')}`);
  print([`${code} (${check.severity})`, '', ...check.explanation.split('\n')]);
  return 0;
}

/** Settings from the command line's options; for absent options, from the environment. */
function serviceSettings(options: Options): ServiceSettings {
  const environmentSettings = loadServiceSettings();
  return {
    serviceAccounts: options.serviceAccount ?? environmentSettings.serviceAccounts,
    writableCatalogs: options.writableCatalog ?? environmentSettings.writableCatalogs,
    readableCatalogs: options.readableCatalog ?? environmentSettings.readableCatalogs,
    metadataCatalog: options.metadataCatalog ?? environmentSettings.metadataCatalog,
    externalTableCatalogs: options.externalTableCatalog ?? environmentSettings.externalTableCatalogs ?? [],
    rawColumnCatalogs: options.rawColumnCatalog ?? environmentSettings.rawColumnCatalogs ?? [],
    ...(options.trino !== undefined && { trino: options.trino }),
    ...(options.singleCatalog === true && { isOfOneCatalog: true, serviceAccounts: [], metadataCatalog: null }),
  };
}
