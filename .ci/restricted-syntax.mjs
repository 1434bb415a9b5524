/** oxlint's `house/restricted-syntax`, as eslint's `no-restricted-syntax`: a report for each node that a selector matches. */
export default {
  meta: { name: 'house' },
  rules: {
    'restricted-syntax': {
      meta: { schema: false },
      create: (context) =>
        Object.fromEntries(
          context.options.map(({ selector, message }) => [selector, (node) => context.report({ node, message })]),
        ),
    },
  },
};
