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

test('a DateTime is a day that exists, with a time and an offset', async () => {
  const { graphql, projectId } = await startTestService();
  const read = async (from: string) => {
    const query = `query ($from: DateTime) { project(id: "${projectId}") { marks(from: $from) { isComplete } } }`;
    return (await graphql(query, { from })).errors?.[0]?.message ?? null;
  };
  for (const from of ['2024-02-29T12:00:00Z', '2026-02-28T23:59+14:00', '0001-01-01T00:00:00.000000000001Z']) {
    expect(await read(from), from).toBeNull();
  }
  const none = ['2026-02-30T12:00:00Z', '2025-02-29T12:00:00Z', '2026-04-31T12:00:00+02:00', '2026-13-01T12:00:00Z'];
  for (const from of [...none, '2026-02-28T12:00:00', '2026-02-28', '1', 'today']) {
    expect(await read(from), from).toContain('DateTime must be an ISO 8601 date and time');
  }
});
