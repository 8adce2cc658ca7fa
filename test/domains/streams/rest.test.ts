import { expect, test } from 'vitest';
import { heardOn, KINDS, streamWorld } from './stream-world.ts';

const QUERY = { select: [{ source: '[a]', target: '[b]' }] };

test.each(KINDS)('streams of %s are made, changed, replayed and deleted by REST', async (kind) => {
  const { rest, client } = await streamWorld(kind);
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, body: told } = await rest(method, path, body);
    return [status, told];
  };
  const device = await client();
  const { until } = await heardOn(await client(), 'out/#');

  const first = {
    streamname: 'one',
    sourceTopic: 'in/1',
    targetTopic: 'out/1',
    query: QUERY,
    textname: 'One',
    key: 'k',
  };
  expect(await ask('POST', '/streams', first)).toEqual([204, undefined]);
  const second = {
    streamname: 'two',
    sourcetopic: 'in/2',
    targettopic: '',
    targetqos: 1,
    ttl: 0,
    textdescription: null,
  };
  expect(await ask('POST', '/streams', second)).toEqual([204, undefined]);
  const one = {
    streamname: 'one',
    sourcetopic: 'in/1',
    targettopic: 'out/1',
    textname: 'One',
    targetqos: -1,
    ttl: 86_400,
    active: true,
    process: true,
    persist: false,
    replaying: false,
    query: QUERY,
  };
  const two = { ...one, streamname: 'two', sourcetopic: 'in/2', targetqos: 1, ttl: 0, query: {} };
  const { targettopic: _, textname: __, ...bare } = two;
  const list = await rest('GET', '/streams');
  expect([list.status, list.headers.get('x-total-count'), list.body]).toEqual([200, '2', [one, bare]]);
  expect(await ask('GET', '/streams?verbose=false')).toEqual([200, ['one', 'two']]);
  expect(await ask('GET', '/streams?offset=1&count=5')).toEqual([200, [bare]]);
  expect(await ask('GET', '/streams?count=1&verbose=false')).toEqual([200, ['one']]);

  // Only what is given changes, in either spelling; an unknown one is not made.
  expect(await ask('PUT', '/streams', { streamname: 'two', targetTopic: 'out/2', replace: true })).toEqual([
    204,
    undefined,
  ]);
  expect(await ask('PUT', '/streams', { streamname: 'two', targettopic: 'out/two', active: false })).toEqual([
    204,
    undefined,
  ]);
  expect(await ask('PUT', '/streams', { streamname: 'one', persist: true, textname: '' })).toEqual([204, undefined]);
  expect((await rest('GET', '/streams')).body).toEqual([
    { ...one, persist: true, textname: undefined },
    { ...bare, targettopic: 'out/two', active: false },
  ]);
  expect(await ask('PUT', '/streams', { streamname: 'three', ttl: 1 })).toMatchObject([404, { code: 'NOT_FOUND' }]);

  for (const a of [1, 2, 3]) await device.publishAsync('in/1', JSON.stringify({ a }), { qos: 1 });
  expect((await until(3)).map(({ text }) => text)).toEqual(['{"b":1}', '{"b":2}', '{"b":3}']);
  const from = new Date(Date.now() - 3_600_000);
  const bounds = [
    String(Math.floor(from.getTime() / 1_000)),
    String(from.getTime()),
    from.toISOString(),
    String(from.getTime() / 1_000),
    '',
  ];
  let heard = 3;
  for (const gte of bounds) {
    const replay = { streamname: 'one', replayTopic: 'out/replay', gte, lte: '', limit: 2, speed: 'fastest' };
    expect(await ask('PUT', '/streams/replay', replay)).toEqual([204, undefined]);
    heard += 2;
    expect((await until(heard)).slice(-2).map(({ topic, text }) => [topic, text])).toEqual([
      ['out/replay', '{"b":1}'],
      ['out/replay', '{"b":2}'],
    ]);
    // The next one begins when this one has ended.
    await expect.poll(async () => (await rest('GET', '/streams')).body[0].replaying).toBe(false);
  }
  const late = {
    streamname: 'one',
    replaytopic: 'out/replay',
    gte: '2100-01-01',
    speed: 1_000,
    reverse: true,
    limit: -1,
  };
  expect(await ask('PUT', '/streams/replay', late)).toEqual([204, undefined]);
  const nothing = { streamname: 'two', replayTopic: 'x', speed: 'original' };
  expect(await ask('PUT', '/streams/replay', nothing)).toMatchObject([400, { code: 'BROKER_REJECTED' }]);

  expect(await ask('DELETE', '/streams/messages?streamname=one')).toEqual([204, undefined]);
  expect(await ask('DELETE', '/streams?streamname=one')).toEqual([204, undefined]);
  expect(await ask('DELETE', '/streams?streamname=one')).toMatchObject([404, { code: 'NOT_FOUND' }]);
  expect(await ask('GET', '/streams?verbose=false')).toEqual([200, ['two']]);
});

test('issues of a request have the names of its own fields, and it has no effect', async () => {
  const { rest, service, brokerId } = await streamWorld('the embedded broker');
  const stream = { streamname: 's', sourceTopic: 'in' };
  const replay = { streamname: 's', replayTopic: 'out' };
  const cases: [string, string, unknown, string[]][] = [
    ['POST', '/streams', { streamname: 's' }, ['/sourceTopic']],
    ['POST', '/streams', { sourceTopic: 'in' }, ['/streamname']],
    ['POST', '/streams', { ...stream, sourcetopic: 'other' }, ['/sourcetopic']],
    ['POST', '/streams', { ...stream, streamname: 'a\u0001b', targetTopic: 'out/#' }, ['/streamname', '/targetTopic']],
    ['POST', '/streams', { ...stream, sourceTopic: '$SYS/#', targetTopic: '+' }, ['/sourceTopic', '/targetTopic']],
    ['POST', '/streams', { ...stream, targetTopic: 'in' }, ['/targetTopic']],
    ['POST', '/streams', { ...stream, ttl: -1, targetqos: 3, persist: 'yes' }, ['/targetqos', '/ttl', '/persist']],
    ['POST', '/streams', { ...stream, ttl: 1.5, wrong: 1 }, ['/wrong', '/ttl']],
    ['POST', '/streams', { ...stream, query: [] }, ['/query']],
    [
      'POST',
      '/streams',
      { ...stream, query: { select: [{ source: 'x', target: '[a]' }] } },
      ['/query/select/0/source'],
    ],
    [
      'POST',
      '/streams',
      { ...stream, query: { where: [{ operator: '~', left: '[a]', right: 1 }] } },
      ['/query/where/0/operator'],
    ],
    ['POST', '/streams', [stream], ['/']],
    ['PUT', '/streams', { streamname: 's', sourcetopic: 'a#' }, ['/sourcetopic']],
    ['PUT', '/streams', { streamname: 's', sourcetopic: 'a', sourceTopic: 'b' }, ['/sourcetopic']],
    ['PUT', '/streams/replay', { streamname: 's' }, ['/replayTopic']],
    ['PUT', '/streams/replay', { ...replay, replayTopic: '$SYS/x' }, ['/replayTopic']],
    ['PUT', '/streams/replay', { ...replay, gte: 'yesterday' }, ['/gte']],
    ['PUT', '/streams/replay', { ...replay, gte: '2026-02-30' }, ['/gte']],
    ['PUT', '/streams/replay', { ...replay, gte: '-5' }, ['/gte']],
    ['PUT', '/streams/replay', { ...replay, gte: 7, lte: null }, ['/gte', '/lte']],
    ['PUT', '/streams/replay', { ...replay, gte: '1e3', lte: {} }, ['/lte']],
    ['PUT', '/streams/replay', { ...replay, gte: '2026-01-02', lte: '2026-01-01T23:59+02:00' }, ['/lte']],
    ['PUT', '/streams/replay', { ...replay, speed: 0 }, ['/speed']],
    ['PUT', '/streams/replay', { ...replay, speed: 'slow', limit: -2 }, ['/limit', '/speed']],
    ['PUT', '/streams/replay', { ...replay, limit: 0 }, ['/limit']],
    ['DELETE', '/streams', undefined, ['streamname']],
    ['DELETE', '/streams/messages?name=s', undefined, ['name', 'streamname']],
    ['GET', '/streams?count=-2', undefined, ['count']],
    ['GET', '/streams?filterValue=x', undefined, ['filterValue']],
  ];
  for (const [method, path, body, paths] of cases) {
    const answer = await rest(method, path, body);
    const at = answer.body?.info?.issues?.map((issue: { path: string }) => issue.path);
    expect([method, path, body, answer.status, answer.body?.code, at]).toEqual([
      method,
      path,
      body,
      400,
      'INVALID',
      paths,
    ]);
  }
  const reasonOf = async (body: object) => (await rest('PUT', '/streams/replay', body)).body.info.issues[0].reason;
  expect(await reasonOf({ ...replay, speed: 'slow' })).toBe('must be "original" or "fastest" or a number');
  expect(await reasonOf({ ...replay, streamname: '' })).toBe('must not be empty');
  expect((await rest('GET', '/streams')).body).toEqual([]);
  const old = await service.rest(
    'GET',
    `/api/projects/${service.projectId}/brokers/${brokerId}/streams?verbose=false`,
    service.root,
    undefined,
    { accept: 'application/json;version=3.0' },
  );
  expect([old.status, old.body.info.issues[0].path]).toEqual([400, 'verbose']);
});
