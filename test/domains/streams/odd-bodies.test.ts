import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modelPlace } from '../../../src/data-plane/streams/control/stream-wire.ts';
import { definitionIssues, replayIssues } from '../../../src/data-plane/streams/definition/definition-issues.ts';
import { startTestService } from '../../support/service.ts';
import { runs } from '../../support/suite.ts';
import { startCommercialStreams } from './commercial-streams.ts';
import { addBroker, worldOf } from './stream-world.ts';

const text = fc.oneof(
  fc.constantFrom('s', 'in', 'out/x', 'in/#', '+/a', '$SYS/#', '', '\u0000', '\ud800', '__proto__', 'constructor'),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
const path = fc.oneof(fc.constantFrom('[a]', '[a][b]', 'a', '[]', '[a', 'timestamp', 'windowstart', '*', ''), text);
const odd = fc.oneof(text, fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(-1, 0, 1, 2, -0, true, null));
const item = fc.record(
  {
    source: path,
    target: path,
    alias: text,
    function: fc.constantFrom('min', 'max', 'sum', 'count', 'time_bucket', 'avg'),
    intervalsize: fc.constantFrom(0, 1, 60, -1, '60'),
    intervaloffset: fc.integer(),
  },
  { requiredKeys: [] },
);
const condition = fc.record({ operator: fc.constantFrom('==', '>', '<=', '='), left: path, right: odd });
const query = fc.oneof(
  odd,
  fc.record(
    { select: fc.array(item, { maxLength: 3 }), where: fc.array(condition, { maxLength: 2 }) },
    { requiredKeys: [] },
  ),
);
const likely = <T>(good: T, arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(good) }, arbitrary);

/** By the names that REST bodies have. */
const STREAM = {
  streamname: likely('s', odd),
  sourceTopic: likely('in', odd),
  targetTopic: likely('out', odd),
  targetqos: likely(1, odd),
  ttl: likely(60, odd),
  query,
  key: odd,
  persist: likely(true, odd),
  textname: odd,
};
const REPLAY = {
  streamname: likely('there', odd),
  replayTopic: likely('out', odd),
  gte: likely('', odd),
  lte: likely('1700000000', odd),
  limit: likely(-1, odd),
  speed: likely('fastest', odd),
  reverse: likely(true, odd),
};
const some = <T extends Record<string, fc.Arbitrary<unknown>>>(model: T) => fc.record(model, { requiredKeys: [] });
const GRAPH_NAMES: Readonly<Record<string, string>> = {
  streamname: 'name',
  targetqos: 'targetQos',
  textname: 'textName',
  replayTopic: 'topic',
  gte: 'from',
  lte: 'to',
};
const inGraph = (body: object) =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [GRAPH_NAMES[name] ?? name, value]));

test('whatever a body holds is done or refused, and a broker is sent nothing that cannot be', async () => {
  const broker = await startCommercialStreams();
  broker.streams.set('there', { streamname: 'there', sourcetopic: 'a', persist: true, replaying: false });
  const service = await startTestService();
  const { rest, brokerId } = worldOf(service, await addBroker(service, broker.url), broker.url, {});
  const codes = new Set<string>();
  const told = (code: string | undefined) => {
    codes.add(code ?? 'DONE');
    expect(['DONE', 'INVALID', 'NOT_FOUND', 'ALREADY_EXISTS', 'BROKER_REJECTED']).toContain(code ?? 'DONE');
  };
  const byGraph = async (field: string, input: object) => {
    const document = `mutation ($input: ${field.charAt(0).toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) { broker { id } } }`;
    const { errors } = await service.graphql(document, { input: { ...input, brokerId } });
    told(errors?.[0]?.extensions.code);
  };
  const byRest = async (method: string, path: string, body: object) =>
    told((await rest(method, path, body)).body?.code);
  const inModel = (fields: object) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [modelPlace(`/${name}`).slice(1), value]));

  await fc.assert(
    fc.asyncProperty(some(STREAM), some(REPLAY), async (stream, replay) => {
      const before = broker.commands.length;
      await byRest('POST', '/streams', stream);
      await byRest('PUT', '/streams', { ...stream, streamname: 'there' });
      await byRest('PUT', '/streams/replay', replay);
      await byGraph('createStream', inGraph(stream));
      await byGraph('updateStream', { ...inGraph(stream), name: 'there' });
      await byGraph('replayStream', inGraph(replay));
      for (const { command, ...fields } of broker.commands.slice(before)) {
        if (command === 'createStream') expect(definitionIssues(inModel(fields))).toEqual([]);
        if (command === 'modifyStream') expect(definitionIssues(inModel(fields), { partial: true })).toEqual([]);
        if (command === 'replayStream')
          expect(replayIssues({ topic: fields.replaytopic, reverse: fields.reverse })).toEqual([]);
      }
      broker.streams.delete('s');
    }),
    // The example is valid, so that something is done in every run.
    { numRuns: runs(30), examples: [[{ streamname: 's', sourceTopic: 'in', targetTopic: 'out' }, {}]] },
  );
  expect([...codes].sort()).toEqual(expect.arrayContaining(['DONE', 'INVALID']));
  expect(Object.keys(Object.prototype)).toEqual([]);
});
