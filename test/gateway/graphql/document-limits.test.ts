import { describe, expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { schema } from '../../../src/app/schema.ts';
import { Operation } from '../../../src/gateway/graphql/operation.ts';
import { Operations } from '../../../src/gateway/graphql/operations.ts';
import { busyMs } from '../../support/busy-time.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const repeated = (count: number, field = 'user{id}') => `{viewer{${field.repeat(count)}}}`;
const inFragments = (count: number) =>
  `{viewer{...${Array.from({ length: count }, (_, i) => `F${i}`).join(' ...')}}} ${Array.from(
    { length: count },
    (_, i) => `fragment F${i} on Viewer{user{id}}`,
  ).join(' ')}`;

/** The first message about one operation over WebSocket, without credentials. */
async function overWebSocket(service: TestService, query: string): Promise<unknown> {
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => socket.send('{"type":"connection_init"}'));
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (message.type === 'connection_ack') {
        socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query } }));
      } else if (message.type !== 'ping') resolve(message.payload[0] ?? message.payload);
    });
  });
}

describe('fields under one response key', () => {
  const refused = (actual: number) => ({ extensions: { code: 'TOO_COMPLEX', info: { limit: 50, actual } } });

  test.each([
    ['objects', repeated(480)],
    ['leaves', repeated(1_980, 'id ')],
    ['inline fragments', repeated(480, '...{id}')],
    ['fragments', inFragments(150)],
  ])('are refused beyond 50 before validation: %s', async (_name, query) => {
    const service = await startTestService();
    const before = busyMs();
    expect((await service.graphql(query, {}, null)).errors).toMatchObject([refused(51)]);
    expect(await overWebSocket(service, query)).toMatchObject(refused(51));
    expect(busyMs() - before).toBeLessThan(1_000);
  });

  test('are served up to 50, also through fragments', async () => {
    const service = await startTestService();
    for (const query of [repeated(50), repeated(50, 'name '), inFragments(50)]) {
      const { data, errors } = await service.graphql(query);
      expect(errors).toBeUndefined();
      expect(data.viewer).toBeTypeOf('object');
    }
  });

  test('are refused if repetitions multiply, and served if 200 fields repeat others', async () => {
    const service = await startTestService();
    const multiplied = (outer: number, inner: number) => `{${`viewer{${'name '.repeat(inner)}}`.repeat(outer)}}`;
    expect((await service.graphql(multiplied(25, 25))).errors).toMatchObject([
      { extensions: { code: 'TOO_COMPLEX', info: { limit: 200, actual: 201 } } },
    ]);
    expect((await service.graphql(multiplied(14, 14))).errors).toBeUndefined();
  });
});

test('a caller with too many new documents is refused; other callers and cached documents are served', async () => {
  const service = await startTestService({ env: { QUERY_PREPARATION_MS: '10' } });
  const { token } = await service.person(null);
  const known = '{ signInOffers { __typename } }';
  expect((await service.graphql(known, {}, null)).errors).toBeUndefined();

  // Each document differs by a space.
  const spreads = Array.from({ length: 400 }, (_, i) => `...F${i}`).join(' ');
  let refusal: unknown;
  for (let blanks = 0; refusal === undefined && blanks < 2_000; blanks++) {
    const { errors } = await service.graphql(`{viewer{${spreads}}}${' '.repeat(blanks)}`, {}, null);
    refusal = errors?.find(({ extensions }) => extensions.code === 'RATE_LIMITED');
  }
  expect(refusal).toMatchObject({ extensions: { info: { retryAfterSeconds: expect.any(Number) } } });
  expect(await overWebSocket(service, `{viewer{${spreads}}} `.padEnd(10_000))).toMatchObject({
    extensions: { code: 'RATE_LIMITED' },
  });

  expect((await service.graphql(known, {}, null)).errors).toBeUndefined();
  expect((await service.graphql('{ viewer { user { id } } } # new', {}, token)).errors).toBeUndefined();
});

test('a caller whose introspections differ by a space is refused, and cached introspections are served', async () => {
  const service = await startTestService({ env: { QUERY_PREPARATION_MS: '50' } });
  const { token } = await service.person('VIEWER');
  const introspection = '{__schema{types{name description fields{name description args{name description}}}}}';
  const codeOf = async (text: string) => (await service.graphql(text, {}, token)).errors?.[0]?.extensions.code;
  // The preparation of each takes a few milliseconds at most, its execution many times as long.
  const codes: unknown[] = [];
  for (let blanks = 0; blanks < 200 && codes.at(-1) === undefined; blanks++)
    codes.push(await codeOf(introspection + ' '.repeat(blanks)));
  expect(codes.at(-1)).toBe('RATE_LIMITED');
  const { errors } = await service.graphql(introspection, {}, service.root);
  expect(errors).toBeUndefined();
  expect(await codeOf(introspection + ' '.repeat(codes.length - 2))).toBeUndefined();
});

test('new documents are prepared one per event loop iteration, round robin over callers', async () => {
  const operations = new Operations({ schema });
  const order: string[] = [];
  const send = async (address: string, index: number) => {
    await operations.findFor({ viewer: null, address }, `{ viewer { user { id } } } # ${address} ${index}`);
    order.push(`${address} ${index}`);
  };
  const all = [0, 1, 2, 3, 4].map((index) => send('192.0.2.1', index));
  all.push(send('192.0.2.2', 0));
  for (let turn = 1; turn <= 3; turn++) {
    await new Promise(setImmediate);
    expect(order.length).toBeLessThanOrEqual(turn + 1);
  }
  await Promise.all(all);
  expect(order.slice(0, 3)).toContain('192.0.2.2 0');
  // A cached document does not wait for an iteration.
  expect(operations.findFor({ viewer: null }, '{ viewer { user { id } } } # 192.0.2.1 0')).toBeInstanceOf(Operation);
});

test('an error repeats at most 2,000 characters of a long name', async () => {
  const service = await startTestService();
  const { errors } = await service.graphql(`{ ${'x'.repeat(60_000)} }`);
  expect(errors?.[0]?.extensions.code).toBe('INVALID');
  expect(JSON.stringify(errors).length).toBeLessThan(3_000);
});
