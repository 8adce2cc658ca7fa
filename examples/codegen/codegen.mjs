/** `npx graphql-codegen --config codegen/codegen.mjs` writes the types of the documents in `page.ts`. */
// biome-ignore lint/style/noDefaultExport: graphql-codegen reads the default export.
export default {
  schema: '../schema.graphql',
  documents: ['codegen/*.ts', '!codegen/generated/**'],
  generates: {
    'codegen/generated/': {
      preset: 'client',
      config: {
        useTypeImports: true,
        enumsAsTypes: true,
        scalars: { DateTime: 'string', JSON: 'unknown', SafeInt: 'number' },
      },
    },
  },
};
