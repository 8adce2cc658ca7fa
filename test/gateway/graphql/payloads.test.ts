import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';

test('each mutation has a payload of its own, which is named after it', () => {
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
  expect(mutations.length).toBeGreaterThan(50);
  const capital = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const others = mutations.filter(({ name, type }) => String(type) !== `${capital(name)}Payload!`);
  expect(others.map(({ name, type }) => `${name}: ${type}`)).toEqual([]);
});
