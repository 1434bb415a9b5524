/** Every address that has a page. Everything else is 404, as without a console. */
export const PAGE_PATHS = [
  '/',
  '/sign-in',
  '/me',
  '/sql',
  '/people',
  '/people/:id',
  '/groups',
  '/groups/:id',
  '/grants',
  '/grants/new',
  '/policies',
  '/policies/:id',
  '/engine',
  '/publications',
  '/publications/:version',
  '/audit',
] as const;
