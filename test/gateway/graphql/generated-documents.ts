import fc from 'fast-check';
import { expect } from 'vitest';
import { both } from './both-executors.ts';

// A key always names the same field with the same arguments, so that most documents are valid.
const condition = fc.constantFrom('', '', '', ' @skip(if: $p)', ' @include(if: $q)', ' @include(if: true)');
const leaf = fc.constantFrom(
  'id',
  'id_id: id',
  'name',
  'createdAt',
  'tags',
  'state',
  'url',
  'later',
  'strictUrl',
  '__typename',
  'fault(kind: $k)',
  'f1: fault(kind: BUG, when: LATER)',
  'f2: strictFault(kind: SERVICE, when: LATER)',
  'f3: strictFault(kind: NULL)',
);
const branch = fc.constantFrom(
  'parent',
  'a: parent',
  'a_b: parent',
  'b: parent',
  'brokers(first: 2)',
  'b_n: brokers(first: $n)',
);
const { selection } = fc.letrec<{ selection: string; set: string }>((tie) => ({
  set: fc.array(tie('selection'), { minLength: 1, maxLength: 4 }).map((parts) => `{ ${parts.join(' ')} }`),
  selection: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(leaf, condition).map((parts) => parts.join('')),
    fc.tuple(branch, condition, tie('set')).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('... on Broker', '... on CloudBroker', '...'), condition, tie('set'))
      .map((parts) => parts.join('')),
    fc.tuple(fc.constantFrom('...F', '...G'), condition).map((parts) => parts.join('')),
  ),
}));
/** Documents with the variables `p`, `q`, `n` and `k` on the graph of `graph.ts`. */
export const document = fc
  .tuple(fc.array(selection, { minLength: 1, maxLength: 4 }), fc.array(selection, { minLength: 1, maxLength: 3 }))
  .map(
    ([root, fragment]) => `query ($p: Boolean!, $q: Boolean! = true, $n: Int, $k: Fault = SERVICE) {
      brokers(first: 3) { ${root.join(' ')} }
      broker(id: "brk_3") { ${root.join(' ')} }
      used: brokers(first: $n) { ...F fault(kind: $k) @skip(if: $p) name @include(if: $q) }
    }
    fragment F on Broker { ...G ${fragment.join(' ').replaceAll(/\.\.\.[FG]/g, '...G')} }
    fragment G on Broker { gid: id gl: later strictUrl @skip(if: $p) }`,
  );

/** Most documents are valid. */
export async function tryGeneratedDocuments(count: number): Promise<void> {
  let valid = 0;
  await fc.assert(
    fc.asyncProperty(document, fc.boolean(), fc.boolean(), fc.constantFrom(null, 1, 2), async (text, p, q, n) => {
      const answer = await both(text, { p, q, ...(n !== null && { n }) });
      if (answer.data !== undefined) valid += 1;
    }),
    { numRuns: count },
  );
  expect(valid).toBeGreaterThan(count / 2);
}
