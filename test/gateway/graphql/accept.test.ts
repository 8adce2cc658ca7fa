import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../support/suite.ts';
import { get, post, startGraphqlServer } from './server.ts';

const JSON_TYPE = 'application/json';
const RESPONSE_TYPE = 'application/graphql-response+json';
const EVENTS = 'text/event-stream';
const TYPES = [JSON_TYPE, RESPONSE_TYPE, EVENTS, 'application/*', 'text/*', '*/*', 'text/html', 'image/webp'] as const;

const range = fc.record({
  type: fc.constantFrom(...TYPES),
  weight: fc.integer({ min: 0, max: 10 }),
  isAboveOne: fc.boolean(),
  aboveOne: fc.constantFrom('2', '1.001', '10', '1e3'),
  isShort: fc.boolean(),
  isLoud: fc.boolean(),
  parameter: fc.constantFrom('', ';charset=utf-8', ';profile="a,b;q=0"', ' ; x="\\",application/json"'),
  space: fc.constantFrom('', ' ', '\t'),
});
type Range = typeof range extends fc.Arbitrary<infer Value> ? Value : never;

/** A weight above 1 is 1: RFC 9110 has no rule for it. */
const textOf = ({ type, weight, isAboveOne, aboveOne, isShort, isLoud, parameter, space }: Range): string => {
  const value = weight === 10 && isAboveOne ? aboveOne : String(weight / 10);
  const q = weight === 10 && isShort && !isAboveOne ? '' : `;${space}${isLoud ? 'Q' : 'q'}=${value}`;
  return `${space}${isLoud ? type.toUpperCase() : type}${parameter}${q}`;
};

/** RFC 9110, section 12.5.1: the most specific range decides. Of equal ones, the one with the highest weight. */
function weightOf(ranges: readonly Range[], type: string, others: readonly string[]): number {
  for (const wanted of [type, ...others]) {
    const found = ranges.filter((one) => one.type === wanted);
    if (found.length > 0) return Math.max(...found.map(({ weight }) => weight));
  }
  return 0;
}

test('any Accept header gets the offered type with the highest weight, or 406', async () => {
  const server = await startGraphqlServer();
  await fc.assert(
    fc.asyncProperty(fc.array(range, { minLength: 1, maxLength: 6 }), fc.boolean(), async (ranges, isPost) => {
      const accept = ranges.map(textOf).join(',');
      const send = isPost ? post : get;
      const { status, headers } = await send(server, { query: '{ hello }' }, { accept });
      const type = headers['content-type']?.split(';')[0] ?? '';
      const any = ['application/*', '*/*'];
      const [json, response] = [JSON_TYPE, RESPONSE_TYPE].map((one) => weightOf(ranges, one, any));
      const events = weightOf(ranges, EVENTS, ['text/*']);
      const most = Math.max(json ?? 0, response ?? 0);
      const html = weightOf(ranges, 'text/html', []);
      if (!isPost && html > 0 && html >= most) expect([accept, type]).toEqual([accept, 'text/html']);
      else if (most === 0 && events === 0) expect([accept, status]).toEqual([accept, 406]);
      else {
        const best = [
          ...(json === most && events <= most ? [JSON_TYPE] : []),
          ...(response === most && events <= most ? [RESPONSE_TYPE] : []),
          ...(events > most ? [EVENTS] : []),
        ];
        expect([accept, status, best.includes(type) || `${type} instead of ${best}`]).toEqual([accept, 200, true]);
      }
    }),
    { numRuns: runs(300) },
  );
});
