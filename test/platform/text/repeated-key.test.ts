import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ServiceError } from '../../../src/platform/errors.ts';
import { requireUniqueKeys } from '../../../src/platform/text/repeated-key.ts';

const pathOf = (text: string, fold?: (name: string) => string): unknown => {
  try {
    requireUniqueKeys(text, fold);
    return null;
  } catch (error) {
    return (error as ServiceError).info?.issues;
  }
};
const repeated = (path: string) => [{ path, reason: 'is present more than once' }];

test.each([
  ['{"a":1,"a":2}', '/a'],
  ['{"a":[{"b":1},{"b":1,"\\u0062":2}]}', '/a/1/b'],
  ['{"":{"":0,"":1}}', '//'],
  ['{"__proto__":1,"__proto__":2}', '/__proto__'],
  ['{"a\\"":[],"b":{},"a\\"" : 1}', '/a"'],
  [`{"${'x'.repeat(300)}":1,"${'x'.repeat(300)}":2}`, `/${'x'.repeat(199)}`],
])('%s is refused with the path', (text, path) => {
  expect(pathOf(text)).toEqual(repeated(path));
});

test('no JSON text that JavaScript writes has a repeated key, and a repeated one is always seen', () => {
  fc.assert(
    fc.property(fc.json(), fc.string(), (json, name) => {
      expect(pathOf(json)).toBeNull();
      const key = JSON.stringify(name);
      expect(pathOf(`[${json},{${key}:${json},${key}:0}]`)).toEqual(repeated(`/1/${name}`.slice(0, 200)));
    }),
  );
});

test('names may be equal without regard to case', () => {
  expect(pathOf('{"roles":1,"Roles":2}')).toBeNull();
  expect(pathOf('{"roles":1,"Roles":2}', (name) => name.toLowerCase())).toEqual(repeated('/Roles'));
});
