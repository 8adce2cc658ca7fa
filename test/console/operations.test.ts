import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, parse, specifiedRules, validate } from 'graphql';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
/** Fragments are used by operations of other files, and gql.tada has a directive of its own. */
const RULES = specifiedRules.filter(
  ({ name }) => !['NoUnusedFragmentsRule', 'KnownFragmentNamesRule', 'KnownDirectivesRule'].includes(name),
);

test('all operations of the console are valid in the graph, arguments included, which their types do not check', () => {
  const schema = buildSchema(readFileSync(join(ROOT, 'schema.graphql'), 'utf8'));
  const files = readdirSync(join(ROOT, 'console'), { recursive: true, encoding: 'utf8' });
  const found = files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, 'console', file), 'utf8');
      return [...text.matchAll(/graphql\(\s*`([^`]+)`/g)].map(([, operation]) => ({
        file,
        operation: String(operation),
      }));
    });
  expect(found.length).toBeGreaterThan(50);
  const errors = found.flatMap(({ file, operation }) =>
    validate(schema, parse(operation), RULES).map(({ message }) => `${file}: ${message}`),
  );
  expect(errors).toEqual([]);
});
