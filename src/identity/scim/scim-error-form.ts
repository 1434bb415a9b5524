import type { ErrorForm, Problem } from '../../platform/http/problem.js';

/** Every route of SCIM. */
export const SCIM_PATH = '/api/scim/v2';

/** How clients of SCIM tell refusals apart that have codes of their own here (RFC 7644 section 3.12). */
const SCIM_TYPES: Partial<Record<Problem['code'], string>> = {
  malformed_json: 'invalidSyntax',
  name_taken: 'uniqueness',
  account_has_password: 'mutability',
};

/** The errors of SCIM's routes. `status` is a text; clients refuse members that are not SCIM's, so the log has the code. */
export const SCIM_ERRORS: ErrorForm = {
  path: SCIM_PATH,
  type: 'application/scim+json; charset=utf-8',
  of: (problem) => {
    const { status, detail, code } = problem;
    const scimType = 'scimType' in problem ? problem.scimType : SCIM_TYPES[code];
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType !== undefined && { scimType }),
      detail,
    };
  },
};
