import { readFileSync } from 'node:fs';
import { parseSettings } from './settings-parser.js';

/** What the chart sets itself: from other values, because it holds a secret, or because the pod fixes it. */
const SET_BY_THE_CHART =
  /^(NODE_ENV|HOST|PORT|OPERATIONS_(HOST|PORT)|DATA_DIR|DATABASE_(MIGRATION_)?URL|AUTH_SECRET_KEY|AUTH_OIDC_CLIENT_SECRET|SCIM_TOKEN|OPA_(TOKEN|BUNDLE_SIGNING_KEY)|SERVICE_QUERY_JWT_CLIENT_SECRET|ACL_SYNC_(ENABLED|CRON)|ACL_TARGET|ACL_FILE_.*|ACL_CONFIGMAP_(?!TARGETS_FILE).*|KUBERNETES_.*)(_FILE)?$/;

interface Schema {
  properties: { settings: { properties: object; additionalProperties: boolean } };
  definitions: { environmentVariable: { allOf: { not?: { properties: { name: { pattern: string } } } }[] } };
}

describe("the chart's settings", () => {
  const schema = JSON.parse(readFileSync('helm/grantline/values.schema.json', 'utf8')) as Schema;
  const { names } = parseSettings({});

  it('are those of the service, but for what the chart sets itself', () => {
    const { properties, additionalProperties } = schema.properties.settings;
    expect(Object.keys(properties).sort()).toEqual(names.filter((name) => !SET_BY_THE_CHART.test(name)).sort());
    expect(additionalProperties).toBe(false);
  });

  it('cannot be set past them by extraEnv', () => {
    const { allOf } = schema.definitions.environmentVariable;
    const refused = allOf.flatMap(({ not }) => (not === undefined ? [] : new RegExp(not.properties.name.pattern)));
    expect(names.filter((name) => !refused.some((pattern) => pattern.test(name)))).toEqual([]);
  });
});
