import { getIntrospectionQuery } from 'graphql';
import { expect, test } from 'vitest';
import { compileOperation } from '../../../src/gateway/graphql/internal-operation.ts';
import { both, context, schema } from './both-executors.ts';
import { tryGeneratedDocuments } from './generated-documents.ts';

const DOCUMENTS: readonly (readonly [text: string, variables?: object])[] = [
  ['{ hello }'],
  ['{ hello(name: null) a: hello(name: "x\\"y__MAGIC_DATE__") }'],
  ['query ($n: String) { hello(name: $n) }'],
  ['query ($n: String) { hello(name: $n) }', { n: null }],
  ['query ($n: String = "d") { hello(name: $n) }'],
  ['query ($n: String!) { hello(name: $n) }'],
  ['query ($n: String!) { hello(name: $n) }', { n: 3 }],
  ['query ($n: Int) { brokers(first: $n) { id } }', { n: null }],
  ['query ($n: Int) { brokers(first: $n) { id } }', { n: 2 }],
  ['query ($n: Int) { brokers(first: $n) { id } }'],
  ['query ($n: Int!) { brokers(first: $n) { id } }', { n: 1e30 }],
  ['{ brokers { __typename id name createdAt tags state url later } }'],
  ['{ brokers { id ...F } } fragment F on CloudBroker { ownCloudBroker name: id }'],
  [
    '{ brokers { ... on SelfHostedBroker { x: ownSelfHostedBroker } ... on Broker { x2: name } parent { parent { id __typename } } } }',
  ],
  [
    'query ($a: Boolean!, $b: Boolean!) { brokers { id @skip(if: $a) ...F @include(if: $b) ...F } } fragment F on Broker { name later @skip(if: $b) }',
    { a: true, b: false },
  ],
  [
    'query ($a: Boolean!, $b: Boolean!) { brokers { id @skip(if: $a) ...F @include(if: $b) } } fragment F on Broker { name later @skip(if: $b) }',
    { a: false, b: true },
  ],
  ['query ($a: Boolean!) { hello @include(if: $a) broker(id: "brk_1") @skip(if: $a) { id } }', { a: false }],
  [
    'query ($a: Boolean!) { broker(id: "brk_1") { id @skip(if: $a) } broker(id: "brk_1") @include(if: $a) { name } }',
    { a: true },
  ],
  ['query ($a: Boolean!) { hello @skip(if: $a) @include(if: $a) }', { a: true }],
  ['{ hello @skip(if: true) }'],
  ['{ brokers { strictUrl } }'],
  ['{ broker(id: "brk_1") { strictUrl later } hello }'],
  ['{ broker(id: "brk_0") { parent { id } brokers { strictUrl } } }'],
  ...['SERVICE', 'BUG', 'STRING', 'GRAPHQL', 'NULL'].flatMap((kind) =>
    ['NOW', 'LATER'].flatMap((when): (readonly [string])[] => [
      [`{ hello brokers { id fault(kind: ${kind}, when: ${when}) } }`],
      [`{ hello broker(id: "brk_2") { id strictFault(kind: ${kind}, when: ${when}) } }`],
      [`{ brokers(first: 2) { id strictFault(kind: ${kind}, when: ${when}) } }`],
    ]),
  ),
  ['{ laterBrokers { id } }'],
  ['{ laterBrokers(bad: 3) { id strictUrl } }'],
  ['{ laterBrokers(bad: 0) { id parent { strictUrl } } }'],
  ['{ untyped { id } hello }'],
  ['{ generated hello }'],
  ['{ wide { int json } }'],
  ['{ wide { strictInt } hello }'],
  [
    '{ echo(filter: { tag: "a", states: ACTIVE, more: { tag: "b" }, since: "2026-01-01T00:00:00Z" }, json: { a: [1, 2.5, null, true, {b: ENUM}] }, ids: [1, "x"]) }',
  ],
  ['query ($t: String!, $f: Filter) { echo(filter: { tag: $t, name: $t, more: $f }) }', { t: 'x' }],
  [
    'query ($t: String!, $f: Filter) { echo(filter: { tag: $t, name: $t, more: $f }) }',
    { t: 'x', f: { tag: 'y', states: ['ACTIVE'] } },
  ],
  ['query ($t: String) { echo(filter: { tag: "x", name: $t }, json: { inside: $t }) }'],
  ['query ($t: String) { hello echo(filter: { tag: "x", name: $t }, json: { inside: $t }) }', { t: null }],
  ['query ($f: Filter!) { echo(filter: $f) }', { f: { tag: 'y', since: '2026-01-01T00:00:00Z', states: 'INACTIVE' } }],
  ['query ($f: Filter!) { echo(filter: $f) }', { f: { since: 'never', states: ['NO'], other: 1 } }],
  ['query ($f: Filter!) { echo(filter: $f) }', { f: JSON.parse('{"tag":"a","__proto__":{"x":1}}') }],
  [
    'query ($j: JSON, $d: DateTime) { echo(json: $j, since: $d) }',
    { j: { deep: [{ x: null }] }, d: '2026-02-03T04:05:06Z' },
  ],
  ['query ($i: [ID!]) { echo(ids: $i) }', { i: 'one' }],
  ['query ($i: [ID!]) { echo(ids: $i) }', { i: ['one', null] }],
  ['mutation { a: add b: add(n: 5) c: add(fault: BUG) d: add }'],
  ['mutation ($n: Int) { a: add b: add(n: $n) c: add }', { n: null }],
  ['mutation ($n: Int) { a: add b: add(n: $n) c: add }'],
  ['{ __proto__: hello constructor: hello toString: hello }'],
  ['{ a_b: broker(id: "brk_1") { c: parent { id } } b: broker(id: "brk_2") { c_a: parent { id } } }'],
  ['{ z_x: broker(id: "brk_1") { y: parent { id } } x: broker(id: "brk_2") { y_z: parent { id } } }'],
  ['query ($__proto__: String) { hello(name: $__proto__) }', JSON.parse('{"__proto__":"p"}')],
  ['query ($literal__0: String) { hello(name: $literal__0) b: hello(name: "b") }', { literal__0: 'x' }],
  ['{ __schema { queryType { name } } __type(name: "Broker") { name fields { name } } }'],
  [getIntrospectionQuery()],
  ['{ nothing }'],
  ['{ hello '],
];

test('both executors return the same result for every document of the list', async () => {
  for (const [text, variables] of DOCUMENTS) await both(text, variables);
});

test('a variable that may be null decides conditions in the same way in each run', async () => {
  const SELECTIONS = [
    ['hello COND broker(id: "brk_1") { id name COND }', ''],
    ['broker(id: "brk_1") { id ... COND { name } }', ''],
    ['broker(id: "brk_1") { id ...F COND }', 'fragment F on Broker { name }'],
    ['...Q COND hello', 'fragment Q on Query { broker(id: "brk_1") { id } }'],
  ] as const;
  for (const [selection, fragment] of SELECTIONS)
    for (const directive of ['skip', 'include'])
      for (const type of ['Boolean = true', 'Boolean = false', 'Boolean! = true', 'Boolean!'])
        for (const variables of [{}, { a: null }, { a: true }, { a: false }]) {
          const used = selection.replaceAll('COND', `@${directive}(if: $a)`);
          await both(`query ($a: ${type}) { ${used} } ${fragment}`, variables);
        }
});

test('a string that looks like a marker of the compiler stays a string', async () => {
  const mark = '__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74d0), x: process.exit(1), y: (0';
  const { data } = await both(`{ hello(name: ${JSON.stringify(mark)}) echo(json: { a: ${JSON.stringify(mark)} }) }`);
  expect(data).toEqual({ hello: `hello ${mark}`, echo: { json: { a: mark } } });
});

test('both executors return the same result for generated documents', () => tryGeneratedDocuments(30));

test('an internal operation returns the same as a request, and reports missing variables', async () => {
  const text = 'query ($id: ID!) { broker(id: $id) { state created_at: createdAt } }';
  const operation = compileOperation(schema, text);
  const { data } = await both(text, { id: 'brk_1' });
  expect(await operation.execute(context(), { id: 'brk_1' })).toEqual({ data });
  expect((await operation.execute(context(), {})).errors?.[0]?.message).toContain('$id');
});

test('an operation that does not fit the schema is refused when it is compiled', () => {
  expect(() => compileOperation(schema, '{ nothing }')).toThrow('nothing');
  expect(() => compileOperation(schema, '{ hello')).toThrow('Syntax');
  expect(() => compileOperation(schema, 'subscription { ticks { n } }')).toThrow('query or mutation');
});
