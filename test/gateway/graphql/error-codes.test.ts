import { isEnumType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { ERROR_STATUS } from '../../../src/platform/errors.ts';

test('the codes of errors are an enum', () => {
  const type = schema.getType('ErrorCode');
  const codes = isEnumType(type) ? type.getValues().map(({ name }) => name) : [];
  expect(codes.toSorted()).toEqual(Object.keys(ERROR_STATUS).toSorted());
});

test('codes of errors in the data have the type of the enum', () => {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType);
  const codes = types.flatMap((type) => {
    const { code } = type.getFields();
    // A statement is no error.
    return code === undefined || type.name === 'ProblemStatement'
      ? []
      : [`${type.name}: ${String(code.type).replace('!', '')}`];
  });
  expect(codes.length).toBeGreaterThan(2);
  expect(codes.filter((code) => !code.endsWith(': ErrorCode'))).toEqual([]);
});
