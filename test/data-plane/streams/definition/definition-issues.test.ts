import { expect, test } from 'vitest';
import { modelPlace, wirePlace } from '../../../../src/data-plane/streams/control/stream-wire.ts';
import { definitionIssues, replayIssues } from '../../../../src/data-plane/streams/definition/definition-issues.ts';
import { DEFAULT_DEFINITION } from '../../../../src/data-plane/streams/model/stream-definition.ts';

const chars = (length: number) => 'x'.repeat(length);
const STREAM = { ...DEFAULT_DEFINITION, name: 'fast', sourceTopic: 'plant/line1' };
const REPLAY = { topic: 'replay/fast', from: 1_000, to: 2_000, limit: 5, speed: 1, reverse: false };

/** Field, what it refuses and why, what it takes. */
const FIELDS: readonly (readonly [field: string, refused: unknown, reason: RegExp, taken: unknown])[] = [
  ['name', undefined, /^is needed$/, 'a'],
  ['name', null, /1 to 200/, 'a'],
  ['name', '', /1 to 200/, ' '],
  ['name', chars(201), /1 to 200/, chars(200)],
  ['name', 'a\nb', /control characters/, 'a b/c#+$'],
  ['name', 'a\uD800', /noncharacters/, 'a\u{1F600}'],
  ['sourceTopic', undefined, /^is needed$/, 'a'],
  ['sourceTopic', 1, /topic filter/, '1'],
  ['sourceTopic', '', /empty/, '/'],
  ['sourceTopic', '$SYS/broker/uptime', /must not begin with \$/, 'a/$SYS'],
  ['sourceTopic', '$share/group/plant/#', /shared subscription/, 'share/group/plant/#'],
  ['sourceTopic', 'plant/#/x', /last level/, 'plant/#'],
  ['sourceTopic', 'plant/a+', /whole level/, 'plant/+/speed'],
  ['sourceTopic', 'a\tb', /control characters/, 'a b'],
  ['sourceTopic', chars(65_536), /65535 bytes/, chars(65_535)],
  ['sourceTopic', '/'.repeat(201), /at most 200 times/, '/'.repeat(200)],
  ['targetTopic', 7, /must be a topic/, null],
  ['targetTopic', '$SYS/x', /must not begin with \$/, 'x/$SYS'],
  ['targetTopic', 'plant/+', /must not contain/, 'plant/fast'],
  ['targetTopic', 'plant/#', /must not contain/, ''],
  ['targetTopic', 'a\u0007', /control characters/, 'ä'],
  ['targetTopic', '/'.repeat(201), /at most 200 times/, '/'.repeat(200)],
  ['targetQos', 3, /-1, 0, 1 or 2/, 2],
  ['targetQos', -2, /-1, 0, 1 or 2/, -1],
  ['targetQos', 0.5, /-1, 0, 1 or 2/, 0],
  ['targetQos', '1', /-1, 0, 1 or 2/, 1],
  ['targetQos', null, /-1, 0, 1 or 2/, undefined],
  ['ttl', -1, /integer from 0/, 0],
  ['ttl', 0.5, /integer from 0/, 1],
  ['ttl', 2 ** 31, /integer from 0 to 2147483647/, 2 ** 31 - 1],
  ['active', 1, /true or false/, true],
  ['process', null, /true or false/, false],
  ['persist', 'true', /true or false/, true],
  ['key', 1, /text/, 'k'],
  ['key', chars(201), /at most 200/, null],
  ['textName', chars(201), /at most 200/, chars(200)],
  ['textName', 'a\0', /U\+0000/, 'a\nb'],
  ['textDescription', chars(4_001), /at most 4000/, chars(4_000)],
  ['textDescription', false, /text/, null],
];

test.each(FIELDS)('a stream with an invalid %s is refused with the reason', (field, refused, reason, taken) => {
  const expected = [{ path: `/${field}`, reason: expect.stringMatching(reason) }];
  expect(definitionIssues({ ...STREAM, [field]: refused })).toEqual(expected);
  expect(definitionIssues({ ...STREAM, [field]: taken })).toEqual([]);
});

test('all issues of a stream are returned together, with those of its query', () => {
  const wrong = { ...STREAM, name: '', targetTopic: '#', ttl: -1, query: { selct: [], where: [1] } };
  expect(definitionIssues(wrong).map(({ path }) => path)).toEqual([
    '/name',
    '/targetTopic',
    '/ttl',
    '/query/selct',
    '/query/where/0',
  ]);
});

test('a change needs neither name nor source, and what it has is looked at all the same', () => {
  expect(definitionIssues({ ttl: 5 }, { partial: true })).toEqual([]);
  expect(definitionIssues({}).map(({ path }) => path)).toEqual(['/name', '/sourceTopic']);
  expect(definitionIssues({ name: '', ttl: -5 }, { partial: true }).map(({ path }) => path)).toEqual(['/name', '/ttl']);
});

test('the paths of issues have the names of the fields of commands after `wirePlace`, and back', () => {
  const wrong = { sourceTopic: '', targetTopic: '+', targetQos: 9, ttl: -1, textName: 1, textDescription: 1, query: 1 };
  const issues = definitionIssues(wrong);
  expect(issues.map(({ path }) => modelPlace(wirePlace(path)))).toEqual(issues.map(({ path }) => path));
  expect(issues.map(({ path }) => wirePlace(path))).toEqual([
    '/streamname',
    '/sourcetopic',
    '/targettopic',
    '/targetqos',
    '/ttl',
    '/textname',
    '/textdescription',
    '/query',
  ]);
  expect(replayIssues({ from: 2, to: 1, speed: 0 })).toEqual([
    { path: '/topic', reason: 'is needed' },
    { path: '/to', reason: 'must not be before the lower bound' },
    { path: '/speed', reason: expect.stringMatching(/"fastest"$/) },
  ]);
  expect(['/topic', '/to', '/speed'].map(wirePlace)).toEqual(['/replaytopic', '/lte', '/speed']);
});

const REPLAY_FIELDS: readonly (readonly [field: string, refused: unknown, reason: RegExp, taken: unknown])[] = [
  ['topic', undefined, /^is needed$/, 'a'],
  ['topic', null, /must be a topic/, 'a'],
  ['topic', '', /empty/, '/'],
  ['topic', 'a/#', /must not contain/, 'a/b'],
  ['topic', '$SYS/a', /must not begin with \$/, 'a/$SYS'],
  ['from', '1000', /epoch milliseconds/, null],
  ['from', Number.NaN, /epoch milliseconds/, 1_000.5],
  ['from', 2_000.5, /./, 2_000],
  ['to', 999, /must not be before the lower bound/, 1_000],
  ['to', true, /epoch milliseconds/, null],
  ['limit', 0, /at least 1/, 1],
  ['limit', -1, /at least 1/, null],
  ['limit', 1.5, /at least 1/, 2],
  ['speed', 0, /number from 0\.001/, 0.001],
  ['speed', -1, /number from 0\.001/, 2.5],
  ['speed', 'original', /"fastest"/, 'fastest'],
  ['speed', Number.POSITIVE_INFINITY, /number from/, 1_000_000],
  ['reverse', 'true', /true or false/, true],
];

test.each(REPLAY_FIELDS)('a replay with an invalid %s is refused with the reason', (field, refused, reason, taken) => {
  // Reversed bounds are an issue of the upper bound.
  const path = field === 'from' && typeof refused === 'number' && refused > REPLAY.to ? '/to' : `/${field}`;
  expect(replayIssues({ ...REPLAY, [field]: refused })).toEqual([{ path, reason: expect.stringMatching(reason) }]);
  expect(replayIssues({ ...REPLAY, [field]: taken })).toEqual([]);
});
