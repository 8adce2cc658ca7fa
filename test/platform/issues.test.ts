import { describe, expect, test } from 'vitest';
import { invalid, MAX_ISSUES, withPlaces } from '../../src/platform/errors.ts';
import { streamWorld } from '../domains/streams/stream-world.ts';
import { busyMs } from '../support/busy-time.ts';
import { shared } from '../support/shared.ts';

const UPDATE = `mutation ($id: ID!, $config: JSON!) {
  updateBridgeConfig(input: { brokerId: $id, bridgeKey: "mqtt-bridge", config: $config }) { bridge { key } }
}`;

const running = shared(() => streamWorld('the embedded broker'));

describe('a refusal', () => {
  const found = (count: number) => Array.from({ length: count }, (_, i) => ({ path: `/${i}`, reason: 'is wrong' }));

  test('lists up to 100 issues', () => {
    expect(invalid(found(MAX_ISSUES)).info).toEqual({ issues: found(100) });
  });

  test('counts the issues beyond 100, also in its message and after its paths were converted', () => {
    const error = invalid(found(250));
    expect(error.info).toEqual({ issues: found(100), omitted: 150 });
    expect(error.message.endsWith('; and 150 more')).toBe(true);
    const moved = withPlaces(error, (path) => `input${path}`);
    expect(moved.info).toMatchObject({ issues: { 99: { path: 'input/99' } }, omitted: 150 });
    expect(moved.message.endsWith('input/99: is wrong; and 150 more')).toBe(true);
  });

  test('repeats at most 1,000 characters of a path', () => {
    const { info, message } = invalid([{ path: `/${'x'.repeat(500_000)}`, reason: 'is not known here' }]);
    expect(JSON.stringify(info).length + message.length).toBeLessThan(3_000);
  });
});

describe('a bridge configuration', () => {
  /** Rules that all break a rule of the schema or conflict with the first one. */
  const config = (rules: number, rule: (index: number) => object) => ({
    connections: Array.from({ length: Math.ceil(rules / 1_000) }, (_, connection) => ({
      name: `c${connection}`,
      url: 'mqtt://localhost',
      topics: Array.from({ length: Math.min(1_000, rules) }, (_, index) => rule(index)),
    })),
  });

  test('of 500 kB that is invalid everywhere has at most 100 issues', async () => {
    const world = await running();
    const wrong: readonly [string, unknown][] = [
      ['conflicts', config(12_000, () => ({ pattern: 'a/b', direction: 'in' }))],
      ['unknown keys', config(9_000, () => ({ pattern: 'a', direction: 'no', other: 1 }))],
      ['one object', Object.fromEntries(Array.from({ length: 15_000 }, (_, key) => [`key${key}`, 1]))],
      ['wildcards', config(10_000, (i) => ({ pattern: i % 2 ? `+/b${i}/x` : `a${i}/+/y`, direction: 'in' }))],
    ];
    for (const [what, given] of wrong) {
      const before = busyMs();
      const { errors } = await world.service.graphql(UPDATE, { id: world.brokerId, config: given });
      expect(busyMs() - before).toBeLessThan(3_000);
      const [error] = errors ?? [];
      expect([what, error?.extensions.code]).toEqual([what, 'INVALID']);
      const { issues } = (error?.extensions.info ?? { issues: [] }) as { issues: unknown[] };
      expect(issues.length).toBeGreaterThan(0);
      expect(issues.length).toBeLessThanOrEqual(100);
      expect(JSON.stringify(errors).length).toBeLessThan(100_000);
    }
  });

  test('with 12,000 topics that do not overlap is accepted', async () => {
    const world = await running();
    const given = config(12_000, (i) => ({ pattern: `site/line/${i}`, direction: 'in' }));
    const inactive = { connections: given.connections.map((connection) => ({ ...connection, active: false })) };
    const { data, errors } = await world.service.graphql(UPDATE, { id: world.brokerId, config: inactive });
    expect(errors).toBeUndefined();
    expect(data.updateBridgeConfig.bridge.key).toBe('mqtt-bridge');
  });
});

test('a request reads at most 2 MiB of bridge configurations, whatever the aliases', async () => {
  const world = await running();
  const topics = Array.from({ length: 900 }, (_, index) => ({ pattern: `site/line/${index}`, direction: 'in' }));
  const connections = Array.from({ length: 12 }, (_, index) => ({
    name: `c${index}`,
    active: false,
    url: 'mqtt://localhost',
    password: 'secret',
    topics,
  }));
  const { errors } = await world.service.graphql(UPDATE, { id: world.brokerId, config: { connections } });
  expect(errors).toBeUndefined();

  const read = (bridges: number, configs: number) => {
    const aliases = (name: string, count: number, field: string) =>
      Array.from({ length: count }, (_, index) => `${name}${index}: ${field}`).join(' ');
    const bridge = `bridge(key: "mqtt-bridge") { ${aliases('c', configs, 'config')} }`;
    return world.service.graphql(`query ($id: ID!) { broker(id: $id) { ${aliases('b', bridges, bridge)} } }`, {
      id: world.brokerId,
    });
  };
  const before = busyMs();
  const refused = await read(14, 14);
  expect(busyMs() - before).toBeLessThan(6_000);
  expect(refused.errors?.[0]?.extensions).toEqual({ code: 'TOO_LARGE', info: { limit: 2 * 1024 * 1024 } });
  const served = await read(2, 1);
  expect(served.errors).toBeUndefined();
  expect(served.data.broker.b1.c0.connections[11].password).toBe('***');
});

test('a REST body with 15,000 unknown keys is refused with its first issue, a small one with all', async () => {
  const { service } = await running();
  const put = (body: unknown) => service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, body);
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, key) => [key.toString(36), 1]));
  const large = await put(keys(15_000));
  expect([large.status, large.body.code, large.body.info.issues.length]).toEqual([400, 'INVALID', 1]);
  const small = await put(keys(300));
  expect([small.status, small.body.info.issues.length]).toEqual([400, 100]);
  expect(small.body.info.omitted).toBeGreaterThanOrEqual(200);
});
