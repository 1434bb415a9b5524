import { readFileSync } from 'node:fs';

function policyText(file: string): string {
  return readFileSync(new URL(`./policy/${file}`, import.meta.url), 'utf8');
}

/** The files of the policy, which is the same in all bundles, by their path in the bundle. */
export const POLICY_FILES: Readonly<Record<string, string>> = {
  'grantline/policy.rego': policyText('policy.rego'),
  'system/log.rego': policyText('system/log.rego'),
};
