import { once } from 'node:events';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { connectDatabase } from '../../data-plane/bridges/postgresql/bridge-to-postgresql.ts';
import { startEndpoint } from '../../data-plane/bridges/webhook/endpoint.ts';
import { hardJson } from '../../support/hard-numbers.ts';
import { usePostgres } from '../../support/postgres.ts';
import { heardOn, type StreamWorld, streamWorld } from '../streams/stream-world.ts';

const postgres = usePostgres();

const HARD = [
  '9007199254740993',
  '18446744073709551615',
  '21.20',
  '1e400',
  '-0',
  '1.0',
  '0.1000000000000000055511151231',
];
const EDGES = [...HARD, `{"id":${HARD[0]},"v":[{"w":${HARD[2]}},[${HARD.join()}]]}`, `[${HARD.join()}]`];

const PUBLISH = `mutation ($input: PublishMessageInput!) {
  publishMessage(input: $input) { payloadBytes outcome }
}`;

const DELIVERED = `subscription ($b: ID!, $k: ID!) {
  bridgeStatus(brokerId: $b, bridgeId: $k) { connections { delivered } }
}`;

/** An operation whose variables are JSON text, because JSON.stringify would round their numbers. */
async function send({ service }: StreamWorld, query: string, variables = '{}') {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${service.root}` };
  const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`;
  const response = await fetch(`${service.url}/graphql`, { method: 'POST', headers, body });
  const { data, errors } = JSON.parse(await response.text());
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

test('a published JSON payload has the numbers of the request, given as a variable or as a literal', async () => {
  const world = await streamWorld('the embedded broker');
  const { until } = await heardOn(await world.client(), 'n');
  const id = JSON.stringify(world.brokerId);
  const sent: string[] = [];
  for (const text of EDGES) {
    const input = `{"brokerId":${id},"topic":"n","payload":{"json":${text}},"qos":1.0}`;
    // Two times each, because the second one is compiled.
    for (const _ of [1, 2]) await send(world, PUBLISH, `{"input":${input}}`);
    const direct = `mutation ($json: JSON!) { publishMessage(input: { brokerId: ${id}, topic: "n", payload: { json: $json } }) { outcome } }`;
    await send(world, direct, `{"json":${text}}`);
    const literal = text.replaceAll(/"(\w+)":/g, '$1:');
    const inline = `mutation { publishMessage(input: { brokerId: ${id}, topic: "n", payload: { json: ${literal} } }) { outcome } }`;
    for (const _ of [1, 2]) await send(world, inline);
    sent.push(...Array<string>(5).fill(text));
  }
  // As the schema describes it.
  const keys = `{"input":{"brokerId":${id},"topic":"n","payload":{"json":{"b":1,"10":1.0,"9":2,"b":3}}}}`;
  await send(world, PUBLISH, keys);
  sent.push('{"9":2,"10":1.0,"b":3}');
  const socket = new WebSocket(`${world.service.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.close());
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${world.service.root}` } }));
  await once(socket, 'message');
  const variables = `{"input":{"brokerId":${id},"topic":"n","payload":{"json":${EDGES.at(-1)}}}}`;
  socket.send(`{"id":"1","type":"subscribe","payload":{"query":${JSON.stringify(PUBLISH)},"variables":${variables}}}`);
  sent.push(EDGES.at(-1) ?? '');
  expect((await until(sent.length)).map(({ text }) => text)).toEqual(sent);
  // Variables of other types are JavaScript numbers.
  const other =
    'query ($f: Float, $s: [JSON!]!) { previewStream(query: {}, samples: $s, spacingSeconds: $f) { results { payload } } }';
  for (const _ of [1, 2]) {
    const { previewStream } = await send(world, other, '{"f":1.50,"s":1.0}');
    expect(previewStream.results).toEqual([{ payload: '1.0' }]);
  }
  // A number is no object.
  await expect(send(world, other, '1.0')).rejects.toThrow('must be an object');
  const optional =
    'query ($f: ConnectedClientFilter, $b: ID!) { broker(id: $b) { connectedClients(filter: $f) { totalCount } } }';
  await expect(send(world, optional, `{"b":${id},"f":1.0}`)).rejects.toThrow('to be an object');
  const tooLong = '{"input":{"brokerId":"x","topic":"n","payload":{"text":""},"qos":9007199254740993}}';
  await expect(send(world, PUBLISH, tooLong)).rejects.toThrow('input.qos');
  const entries = await world.service.storage.db.auditEntry.findMany({ where: { operation: 'publishMessage' } });
  expect(JSON.parse(entries[0]?.after ?? '')).toMatchObject({ payload: { json: '(16 bytes)' } });
});

test('a preview and a stream have the numbers of their request, and return long ones as they are stored', async () => {
  const world = await streamWorld('the embedded broker');
  const preview =
    'query ($q: JSON!, $s: [JSON!]!) { previewStream(query: $q, samples: $s) { results { outcome payload output } } }';
  const id = '9007199254740993';
  const where = `"where":[{"operator":"==","left":"[id]","right":${id}}]`;
  const query = `{"select":[{"source":"[v]","target":"[v]"}],${where}}`;
  const samples = `[{"id":${id},"v":21.20},{"id":9007199254740992,"v":1},"{\\"id\\":${id}.0,\\"v\\":1e400}"]`;
  const { service, brokerId } = world;
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${service.root}` },
    body: `{"query":${JSON.stringify(preview)},"variables":{"q":${query},"s":${samples}}}`,
  });
  expect(await response.text()).toBe(
    '{"data":{"previewStream":{"results":[{"outcome":"PASS","payload":"{\\"v\\":21.20}","output":{"v":21.20}},' +
      '{"outcome":"FILTERED","payload":null,"output":null},' +
      '{"outcome":"PASS","payload":"{\\"v\\":1e400}","output":{"v":1e400}}]}}}',
  );
  const stored = { operator: '==', left: '[id]', right: { number: id } };
  const create = 'mutation ($i: CreateStreamInput!) { createStream(input: $i) { stream { query } } }';
  const settings = '"sourceTopic":"in","targetTopic":"out"';
  const created = await send(
    world,
    create,
    `{"i":{"brokerId":"${brokerId}","name":"a",${settings},"query":{${where}}}}`,
  );
  expect(created.createStream.stream.query.where).toEqual([stored]);
  const path = `${service.url}/api/projects/${service.projectId}/brokers/${brokerId}/streams`;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${service.root}` };
  const body = `{"streamname":"b",${settings.toLowerCase()},"ttl":60.0,"query":{${where}}}`;
  expect((await fetch(path, { method: 'POST', headers, body })).status).toBe(204);
  const rest = await world.rest('GET', '/streams?verbose=true');
  expect(rest.body.map((stream: { query: { where: unknown } }) => stream.query.where)).toEqual([[stored], [stored]]);

  const client = await world.client();
  // The control API of the broker.
  const command = `{"command":"createStream","streamname":"c",${settings.toLowerCase()},"query":{${where}}}`;
  const answers = await heardOn(await world.client(), '$CONTROL/stream-processing/v1/response');
  await client.publishAsync('$CONTROL/stream-processing/v1', `{"commands":[${command}]}`, { qos: 1 });
  // An event comes first.
  expect((await answers.until(2))[1]?.text).toBe('{"responses":[{"command":"createStream"}]}');
  const ofTool = await world.rest('GET', '/streams?verbose=true');
  expect(ofTool.body[2].query.where).toEqual([stored]);
  const { until } = await heardOn(client, 'out');
  for (const text of [`{"id":9007199254740992}`, `{"id":${id}}`]) await client.publishAsync('in', text, { qos: 1 });
  expect((await until(3)).map(({ text }) => text)).toEqual(Array(3).fill(`{"id":${id}}`));
});

test.skipIf(!postgres.available)(
  'random numbers are the same from the request to devices, views, streams and bridges',
  async () => {
    const world = await streamWorld('the embedded broker');
    const url = await postgres.createDatabase();
    const database = await connectDatabase(url);
    await database.query('CREATE TABLE numbers (n bigserial, document json, part json)');
    const endpoint = await startEndpoint();
    const mapping = {
      name: 'numbers',
      topics: ['in'],
      table: 'numbers',
      columns: [
        { column: 'document', source: 'payload' },
        { column: 'part', source: 'payload.v' },
      ],
    };
    const hook = {
      name: 'hook',
      url: endpoint.url,
      secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
      topics: ['in'],
      payload: 'json',
    };
    await world.change('updateBridgeConfig', {
      bridgeKey: 'postgresql-bridge',
      config: { connections: [{ name: 'history', url, mappings: [mapping] }] },
    });
    await world.change('updateBridgeConfig', { bridgeKey: 'webhook-bridge', config: { connections: [hook] } });
    const query = { select: [{ source: '[v]', target: '[v]' }] };
    await world.change('createStream', { name: 's', sourceTopic: 'in', targetTopic: 'out', persist: true, query });

    const device = await heardOn(await world.client(), 'in');
    const results = await heardOn(await world.client(), 'out');
    const replayed = await heardOn(await world.client(), 'again');
    const texts = fc.sample(hardJson, 40).map((json) => `{"v":${json}}`);
    for (const text of texts) {
      const input = `{"brokerId":"${world.brokerId}","topic":"in","retain":true,"payload":{"json":${text}}}`;
      await send(world, PUBLISH, `{"input":${input}}`);
    }
    const textsOf = (heard: readonly { readonly text: string }[]) => heard.map(({ text }) => text);
    expect(textsOf(await device.until(texts.length))).toEqual(texts);
    expect(textsOf(await results.until(texts.length))).toEqual(texts);
    await world.change('replayStream', { name: 's', topic: 'again', fastest: true });
    expect(textsOf(await replayed.until(texts.length))).toEqual(texts);
    const { broker } = await world.graph(
      'query ($b: ID!) { broker(id: $b) { retainedMessages(filter: "in") { edges { node { payload } } } } }',
    );
    expect(broker.retainedMessages.edges).toEqual([{ node: { payload: texts.at(-1) } }]);

    for (const k of ['postgresql-bridge', 'webhook-bridge']) {
      const feed = world.follow(DELIVERED, { k });
      await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0]?.delivered === texts.length);
    }
    const { rows } = await database.query('SELECT document::text, part::text FROM numbers ORDER BY n');
    // A JSON null is no value of a column.
    const partOf = (text: string) => (text === '{"v":null}' ? null : text.slice('{"v":'.length, -1));
    expect(rows).toEqual(texts.map((text) => ({ document: text, part: partOf(text) })));
    const hooked = endpoint.requests.map(({ text }) => text).join('');
    for (const text of texts) expect(hooked).toContain(`"json":${text},"qos"`);
  },
);
