import { graphqlUrl, headers } from './settings.mjs';

const QUERY = '{ __schema { types { kind name fields { name } possibleTypes { name } } } }';

/** What normalised caches need to know of the schema. A build can read the same from `schema.graphql`. */
export async function schemaFacts() {
  const body = JSON.stringify({ query: QUERY });
  const response = await fetch(graphqlUrl, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  const { types } = (await response.json()).data.__schema;
  const abstract = types.filter(({ kind }) => kind === 'INTERFACE' || kind === 'UNION');
  const plain = types.filter(({ kind, fields }) => kind === 'OBJECT' && !fields.some(({ name }) => name === 'id'));
  return {
    /** Interfaces with their types, for fragments such as `... on CloudBroker`. */
    possibleTypes: Object.fromEntries(
      abstract.map(({ name, possibleTypes }) => [name, possibleTypes.map((type) => type.name)]),
    ),
    /** Types without an `id`. Their values belong to the object that contains them. */
    typesWithoutId: plain.map(({ name }) => name),
  };
}
