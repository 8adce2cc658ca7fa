import { type GraphQLNamedType, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';

interface Described {
  readonly name: string;
  readonly description?: string | null | undefined;
}

/** A type and its members, by names such as `Query.broker(id)`. */
function partsOf(type: GraphQLNamedType): Described[] {
  const parts: Described[] = [type];
  const add = (name: string, { description }: Omit<Described, 'name'>) => parts.push({ name, description });
  if (isEnumType(type)) for (const value of type.getValues()) add(`${type.name}.${value.name}`, value);
  if (isInputObjectType(type))
    for (const field of Object.values(type.getFields())) add(`${type.name}.${field.name}`, field);
  if (isObjectType(type) || isInterfaceType(type)) {
    for (const field of Object.values(type.getFields())) {
      add(`${type.name}.${field.name}`, field);
      for (const argument of field.args) add(`${type.name}.${field.name}(${argument.name})`, argument);
    }
  }
  return parts;
}

const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const missingIn = (type: GraphQLNamedType) => partsOf(type).filter(({ description }) => !description?.trim());

test('types, fields, arguments and values have descriptions', () => {
  expect(types.flatMap(missingIn).map(({ name }) => name)).toEqual([]);
});

test('no description only repeats the name', () => {
  const words = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^a-z]/g, '')
      .replace(/^(the|a|an)/, '');
  const empty = types.flatMap((type) =>
    partsOf(type).filter(({ name, description }) => words(description ?? '-') === words(name.split('.').at(-1) ?? '')),
  );
  expect(empty.map(({ name }) => name)).toEqual([]);
});
