import type { ErrorForm, Problem } from '../../platform/problem.js';

/** Every route of SCIM. */
export const SCIM_PATH = '/api/scim/v2';

/** How clients of SCIM tell refusals apart that have codes of their own here (RFC 7644 section 3.12). */
const SCIM_TYPES: Partial<Record<Problem['code'], string>> = {
  malformed_json: 'invalidSyntax',
  name_taken: 'uniqueness',
  account_has_password: 'mutability',
};

/** The errors of SCIM's routes. `status` is a text. */
export const SCIM_ERRORS: ErrorForm = {
  path: SCIM_PATH,
  type: 'application/scim+json; charset=utf-8',
  of: (problem) => {
    const { status, detail, code, request_id } = problem;
    const scimType = 'scimType' in problem ? problem.scimType : SCIM_TYPES[code];
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType !== undefined && { scimType }),
      detail,
      // Beside what SCIM has: what to ask for in the logs.
      code,
      request_id,
    };
  },
};
