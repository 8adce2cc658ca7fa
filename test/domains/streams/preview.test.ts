import { describe, expect, test } from 'vitest';
import { busyMs } from '../../support/busy-time.ts';
import { startTestService } from '../../support/service.ts';

const PREVIEW = `query ($query: JSON!, $samples: [JSON!]!, $start: DateTime, $spacing: Float) {
  previewStream(query: $query, samples: $samples, start: $start, spacingSeconds: $spacing) {
    results { outcome output payload reason at }
  }
}`;

test('a query runs on samples for any signed-in user, and is refused with all issues', async () => {
  const service = await startTestService();
  const { token } = await service.person(null);
  const preview = (query: unknown, samples: unknown[], more: Record<string, unknown> = {}, as: string | null = token) =>
    service.graphql(PREVIEW, { query, samples, ...more }, as);

  const select = [
    { source: '[Machine Data][Speed]', target: '[Data][SpeedMax]', function: 'max' },
    { source: '', target: '[Data][Count]', function: 'count' },
    { source: '*', target: '', function: 'time_bucket', intervalsize: 60, intervaloffset: 30 },
    { source: 'windowstart', target: '[Data][From]' },
  ];
  const sample = (speed: unknown) => ({ 'Machine Data': { Speed: speed } });
  const start = '2023-11-14T22:13:31.000Z';
  const { data } = await preview({ select }, [sample(7), sample(10), '{"Machine Data":{"Speed":3}}'], {
    start,
    spacing: 30,
  });
  expect(data.previewStream.results).toEqual([
    {
      outcome: 'PASS',
      output: { Data: { SpeedMax: 7, Count: 1, From: 1_700_000_010 } },
      payload: '{"Data":{"SpeedMax":7,"Count":1,"From":1700000010}}',
      reason: null,
      at: start,
    },
    expect.objectContaining({ output: { Data: { SpeedMax: 10, Count: 2, From: 1_700_000_010 } } }),
    expect.objectContaining({
      output: { Data: { SpeedMax: 3, Count: 1, From: 1_700_000_070 } },
      at: '2023-11-14T22:14:31.000Z',
    }),
  ]);

  const filtered = await preview({ where: [{ operator: '>', left: '[a]', right: 1 }] }, [{ a: 2 }, { a: 1 }, {}, 'x']);
  expect(filtered.data.previewStream.results).toMatchObject([
    { outcome: 'PASS', output: { a: 2 }, reason: null },
    { outcome: 'FILTERED', output: null, payload: null, reason: expect.any(String) },
    { outcome: 'FILTERED', reason: expect.any(String) },
    { outcome: 'FAILED', reason: expect.any(String) },
  ]);

  const { errors } = await preview({ select: [{ source: 'a', target: '[a]' }], where: [{}, {}], more: 1 }, []);
  const issuesAt = (...paths: string[]) =>
    expect.arrayContaining(paths.map((path) => ({ path, reason: expect.any(String) })));
  expect(errors?.[0]?.extensions).toEqual({
    code: 'INVALID',
    info: { issues: issuesAt('query.select.0.source', 'query.where', 'query.more') },
  });

  const tried = await service.graphql(
    'query ($query: JSON!) { previewStream(query: $query, topic: "a/b", samples: [{ f: 212 }, {}]) { results { payload reason } } }',
    { query: { expression: { output: "levels[1] + ' ' + string(payload.f)" } } },
    token,
  );
  expect(tried.data.previewStream.results).toEqual([
    { payload: 'b 212', reason: null },
    { payload: null, reason: 'the output: a value is missing (at character 34)' },
  ]);

  // What passes as it is may be no JSON at all.
  const plain = await preview({}, ['hello', 5]);
  expect(plain.data.previewStream.results).toMatchObject([
    { outcome: 'PASS', payload: 'hello', output: null },
    { outcome: 'PASS', output: 5 },
  ]);
  const tooMany = await preview({}, Array(1_001).fill(1));
  expect(tooMany.errors?.[0]?.extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'samples' }] } });
  const tooLarge = await preview({}, Array(9).fill('x'.repeat(500_000)));
  expect(tooLarge.errors?.[0]?.extensions.code).toMatch(/INVALID|TOO_LARGE/);
  // A deeply nested query must not cause an internal error.
  const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  expect((await preview({}, [nested(100)])).errors).toBeUndefined();
  expect((await preview({}, [nested(101)])).errors?.[0]?.extensions.code).toBe('INVALID');
  const unknown = await preview({}, [1], {}, null);
  expect(unknown.errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
});

describe('many previews in one request', () => {
  const SAMPLE_LENGTH = 300_000;
  const select = Array.from({ length: 66 }, (_, index) => ({ source: '[a]', target: `[t${index}]` }));
  const document = (aliases: number) =>
    `query ($q: JSON!, $s: [JSON!]!) { ${Array.from(
      { length: aliases },
      (_, index) => `p${index}: previewStream(query: $q, samples: $s) { results { outcome payload output } }`,
    ).join(' ')} }`;
  const samples = [{ a: 'x'.repeat(SAMPLE_LENGTH) }];
  const tooLarge = { extensions: { code: 'TOO_LARGE', info: { limit: 2 * 1024 * 1024 } } };

  test.each([1, 30])(
    'are refused at their fields when %i of them make 20 MB each, and others are served',
    async (aliases) => {
      const service = await startTestService();
      const { token } = await service.person('VIEWER');
      // The second request runs compiled.
      for (let run = 0; run < 2; run++) {
        const before = busyMs();
        const [{ data, errors = [] }, health] = await Promise.all([
          service.graphql(document(aliases), { q: { select }, s: samples }, token),
          fetch(`${service.url}/healthz`),
        ]);
        expect(busyMs() - before).toBeLessThan(3_000);
        expect(health.status).toBe(200);
        expect(data ?? null).toBe(null);
        // Previews are computed in slices, so any of them can be the first beyond the budget.
        expect(errors[0]).toMatchObject({ ...tooLarge, path: [expect.stringMatching(/^p\d+$/)] });
      }
    },
  );

  test('succeed within the budget of the request', async () => {
    const service = await startTestService();
    const { token } = await service.person('VIEWER');
    const { data, errors } = await service.graphql(document(2), { q: {}, s: samples }, token);
    expect(errors).toBeUndefined();
    expect(data.p1.results[0].output.a).toHaveLength(SAMPLE_LENGTH);
  });
});
