import fc from 'fast-check';
import { buildClientSchema, buildSchema, type DocumentNode, getIntrospectionQuery, parse, printSchema } from 'graphql';
import { expect, test } from 'vitest';
import { operationDocument } from '../../../src/gateway/graphql/document.ts';
import { createJsonWriter } from '../../../src/gateway/graphql/json-writer.ts';
import { Operation } from '../../../src/gateway/graphql/operation.ts';
import { Operations } from '../../../src/gateway/graphql/operations.ts';
import { type ResponseKeys, responseKeys } from '../../../src/gateway/graphql/response-keys.ts';
import { runs } from '../../support/suite.ts';

const schema = buildSchema(`
  scalar JSON
  enum Colour { RED GREEN }
  interface Thing { id: ID! name: String }
  type Pump implements Thing { id: ID! name: String flow: Float on: Boolean parts: [Thing] colours: [[Colour!]] }
  type Tank implements Thing { id: ID! name: String level: Int meta: JSON }
  type Query { things: [Thing!] thing: Thing pump: Pump }
`);

const ALL = parse(`{
  things {
    __typename id
    ... on Pump { name flow on parts { id ... on Tank { level } } colours }
    ... on Tank { name level meta }
  }
}`);

const keysOf = (document: DocumentNode, key?: string) => {
  const operation = operationDocument(document);
  const keys = operation && responseKeys(schema, operation);
  return (key === undefined ? keys : keys?.get(key)) as ResponseKeys;
};

test('the text equals that of JSON.stringify for all values', () => {
  const write = createJsonWriter(keysOf(ALL));
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('"', '\\', '\u0007', '\ud800', 'ü', ''),
  );
  const leaf = fc.oneof(text, fc.constant(null), fc.boolean(), fc.double(), fc.integer(), fc.date(), fc.jsonValue());
  const part = fc.record({ id: leaf, level: leaf }, { requiredKeys: ['id'] });
  const thing = fc.record(
    { __typename: leaf, id: leaf, name: leaf, flow: leaf, on: leaf, parts: fc.option(fc.array(fc.option(part))) },
    { requiredKeys: [], noNullPrototype: false },
  );
  fc.assert(
    fc.property(fc.option(fc.array(fc.option(thing))), (things) => {
      expect(write({ things })).toBe(JSON.stringify({ things }));
    }),
    { numRuns: runs(500) },
  );
});

test('undefined keys are omitted, including the first', () => {
  const write = createJsonWriter(keysOf(ALL, 'things'));
  expect(write([{ __typename: undefined, id: 'a', name: null }])).toBe('[{"id":"a","name":null}]');
  expect(write([{ id: undefined }, null])).toBe('[{},null]');
});

test('no writer is created if the order of keys depends on more than the document', () => {
  const keys = (text: string) => keysOf(parse(text));
  expect(keys('{ things { ... on Pump { id name } ... on Tank { name id } } }')).toBeNull();
  expect(keys('query ($a: Boolean!) { things { id @skip(if: $a) name } }')).toBeNull();
  expect(keys('{ __schema { types { name } } }')).toBeNull();
  expect(keys('{ things { ... on Pump { id on name } ... on Tank { id level name } } }')).not.toBeNull();
});

test('the order of keys does not depend on the order in which the schema lists its types', () => {
  const types = ['type A implements Any { a: Int c: Int }', 'type B implements Any { b: Int c: Int }'];
  const all = 'type C implements Any { a: Int b: Int c: Int }';
  const text = '{ any { ... on C { a b c } ... on A { a c } ... on B { b c } } }';
  for (const order of [
    [...types, all],
    [all, ...types],
  ]) {
    const graph = buildSchema(`interface Any { c: Int } ${order.join(' ')} type Query { any: Any }`);
    const operation = operationDocument(parse(text));
    const below = operation && responseKeys(graph, operation)?.get('any');
    expect([...(below as ResponseKeys).keys()]).toEqual(['a', 'b', 'c']);
  }
});

test('leaves are serialised by their types, and errors of types are thrown', () => {
  const write = createJsonWriter(keysOf(parse('{ pump { id on flow colours } }'), 'pump'), { serialise: true });
  expect(write({ id: 7, on: 1, flow: '2.5', colours: [['RED'], null] })).toBe(
    '{"id":"7","on":true,"flow":2.5,"colours":[["RED"],null]}',
  );
  expect(() => write({ id: {}, on: null, flow: null, colours: null })).toThrow('ID cannot represent');
  expect(() => write({ id: '', on: null, flow: null, colours: [['BLUE']] })).toThrow('BLUE');
});

test('an introspection is executed once for all callers, and each document has a result of its own', async () => {
  const operations = new Operations({ schema, introspection: 'always' });
  const resultOf = async (text: string) => {
    const operation = await operations.findFor({ viewer: null }, text);
    if (!(operation instanceof Operation)) throw new Error('refused');
    return operation.execute({ viewer: null }, {}, true);
  };
  const whole = await resultOf(getIntrospectionQuery());
  expect(printSchema(buildClientSchema(JSON.parse(whole.dataText ?? '')))).toBe(printSchema(schema));
  expect(await resultOf(getIntrospectionQuery())).toBe(whole);
  const one = await resultOf('{ __type(name: "Pump") { name } }');
  expect(one.data).toEqual({ __type: { name: 'Pump' } });
  // With other fields it depends on the caller.
  const mixed = '{ __type(name: "Pump") { name } pump { id } }';
  expect(await resultOf(mixed)).not.toBe(await resultOf(mixed));
});

test('a value that its type refuses is an error at its path, in text as well', async () => {
  const operations = new Operations({ schema, introspection: 'always' });
  const operation = await operations.findFor({ viewer: null }, '{ pump { id flow name } }');
  if (!(operation instanceof Operation)) throw new Error('refused');
  const query = schema.getQueryType()?.getFields().pump;
  if (query) query.resolve = () => ({ id: 'p', flow: 'fast', name: 'n' });
  for (let i = 0; i < 3; i++) {
    const { data, errors, dataText } = await operation.execute({ viewer: null }, {}, true);
    expect(dataText).toBeUndefined();
    expect(JSON.parse(JSON.stringify(data))).toEqual({ pump: { id: 'p', flow: null, name: 'n' } });
    expect(errors?.[0]?.path).toEqual(['pump', 'flow']);
  }
});
