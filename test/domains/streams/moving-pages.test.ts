import fc from 'fast-check';
import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { runs } from '../../support/suite.ts';
import { startCommercialStreams } from './commercial-streams.ts';
import { addBroker, worldOf } from './stream-world.ts';

const PAGE = `query ($b: ID!, $first: Int, $after: String) {
  broker(id: $b) { streams(first: $first, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } } }
}`;

interface Page {
  readonly nodes: readonly { readonly name: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

const change = fc.record({
  first: fc.integer({ min: 1, max: 6 }),
  deleted: fc.array(fc.nat(30), { maxLength: 8 }),
  isCreated: fc.boolean(),
});

test('pages have each stream that remains once, while others are deleted and created again', async () => {
  const broker = await startCommercialStreams();
  const service = await startTestService();
  const { graph } = worldOf(service, await addBroker(service, broker.url), broker.url, {});
  const add = (name: string) => broker.streams.set(name, { streamname: name, sourcetopic: 's' });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async (changes) => {
      broker.streams.clear();
      for (let number = 0; number < 20; number += 1) add(`s${number}`);
      const seen: string[] = [];
      const changed = new Set<string>();
      let after: string | null = null;
      for (let round = 0; ; round += 1) {
        const { first, deleted, isCreated } = changes[round] ?? { first: 10, deleted: [], isCreated: false };
        const { nodes, pageInfo }: Page = (await graph(PAGE, { first, after })).broker.streams;
        seen.push(...nodes.map(({ name }) => name));
        if (!pageInfo.hasNextPage) break;
        after = pageInfo.endCursor;
        for (const number of deleted) {
          const name = `s${number}`;
          if (!broker.streams.delete(name)) continue;
          changed.add(name);
          if (isCreated) add(name);
        }
      }
      const remaining = [...broker.streams.keys()].filter((name) => !changed.has(name));
      expect(seen.filter((name) => remaining.includes(name))).toEqual(remaining);
    }),
    { numRuns: runs(30) },
  );
});
