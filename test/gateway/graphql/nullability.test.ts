import { isNonNullType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { BROKER_QUERY_COST } from '../../../src/gateway/graphql/page-cost.ts';

// A non-null field that fails takes its parent with it, and with it all siblings.

const ROOTS = ['Query', 'Mutation', 'Subscription'];
const innerFields = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .filter(({ name }) => !name.startsWith('__') && !ROOTS.includes(name))
  .flatMap((type) => Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, field })));

test('a field that requires more than its type is nullable', () => {
  const guarded = innerFields.filter(({ field }) => field.extensions.requires !== undefined);
  expect(guarded.length).toBeGreaterThan(5);
  expect(guarded.filter(({ field }) => isNonNullType(field.type)).map(({ name }) => name)).toEqual([]);
});

test('a field that asks a broker is nullable', () => {
  const asking = innerFields.filter(({ field }) => field.extensions.complexity === BROKER_QUERY_COST);
  expect(asking.length).toBeGreaterThan(20);
  expect(asking.filter(({ field }) => isNonNullType(field.type)).map(({ name }) => name)).toEqual([]);
});
