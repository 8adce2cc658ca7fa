import { isScalarType, isSpecifiedScalarType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';

test('each custom scalar has a description and the address of its specification', () => {
  const scalars = Object.values(schema.getTypeMap()).filter((type) => isScalarType(type));
  const custom = scalars.filter((type) => !isSpecifiedScalarType(type));
  expect(custom.map(({ name }) => name).sort()).toEqual(['DateTime', 'JSON', 'SafeInt']);
  for (const { description, specifiedByURL } of custom) {
    expect(description).toBeTruthy();
    expect(specifiedByURL).toMatch(/^https:\/\//);
  }
});

test('a sequence has one type in the whole graph', () => {
  const types = Object.values(schema.getTypeMap()).flatMap((type) =>
    'getFields' in type && type.getFields().sequence ? String(type.getFields().sequence?.type) : [],
  );
  expect(types.length).toBeGreaterThan(10);
  expect([...new Set(types)]).toEqual(['SafeInt!']);
});

test('a SafeInt accepts integers of 53 bits, as a literal and as a variable', async () => {
  const service = await startTestService();
  const first = async (after: string, variables: object = {}, declared = '') => {
    const document = `subscription ${declared} { brokerStatus(projectId: "${service.projectId}", after: ${after}) { kind } }`;
    return subscribe(service, service.root, document, { ...variables })
      .until(() => true)
      .catch((errors: unknown) => errors);
  };
  const { MAX_SAFE_INTEGER: max } = Number;
  const asVariable = (after: unknown) => first('$after', { after }, '($after: SafeInt)');
  for (const after of [0, -1, max, -max, null]) {
    expect(await first(String(after))).toEqual({ brokerStatus: { kind: 'SNAPSHOT' } });
    expect(await asVariable(after)).toEqual({ brokerStatus: { kind: 'SNAPSHOT' } });
  }
  const refused = [{ message: expect.stringContaining(`SafeInt must be an integer from -${max} to ${max}`) }];
  for (const after of ['9007199254740992', '-9007199254740992', '1.5', '1e300', '"7"', 'true', '[{ a: 1 }]']) {
    expect(await first(after)).toMatchObject(refused);
  }
  for (const after of [max + 1, -max - 1, 1.5, 1e300, '7', true, {}, []]) {
    expect(await asVariable(after)).toMatchObject(refused);
  }
});
