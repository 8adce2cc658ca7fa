import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { printedSchema } from '../../../src/gateway/graphql/printed.ts';

test('the schema equals schema.graphql, which npm run schema writes', () => {
  const agreed = readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8');
  expect(printedSchema(schema)).toBe(agreed);
});
