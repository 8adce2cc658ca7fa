/** Creates and replays streams of the product for a broker, over GraphQL. */
import type { Product } from './product.ts';

const STORED =
  'query ($b: ID!, $name: String!) { broker(id: $b) { stream(name: $name) { messageCount counters { stored } } } }';

export interface ProductStreams {
  create(input: Readonly<Record<string, unknown>>): Promise<void>;
  /** Number of messages that the stream has stored since its start. */
  stored(name: string): Promise<number>;
  count(name: string): Promise<number>;
  replay(input: Readonly<Record<string, unknown>>): Promise<void>;
}

export async function startProductStreams(product: Product, brokerUrl: string): Promise<ProductStreams> {
  const headers = { authorization: `Bearer ${await product.login()}`, 'content-type': 'application/json' };
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the request.
  const post = async (path: string, body: object): Promise<any> => {
    const response = await fetch(`${product.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok || text.includes('"errors"')) throw new Error(text);
    return JSON.parse(text);
  };
  const graphql = async (query: string, variables: object) => (await post('/graphql', { query, variables })).data;
  const { project } = await graphql('{ projects(first: 1) { nodes { id } } }', {}).then(({ projects }) => ({
    project: projects.nodes[0].id,
  }));
  const { id: b } = await post(`/api/projects/${project}/brokers`, { name: 'bench', url: brokerUrl });
  const read = async (name: string) => (await graphql(STORED, { b, name })).broker.stream;
  return {
    async create(input) {
      const query = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { id } } }';
      await graphql(query, { input: { brokerId: b, ...input } });
    },
    stored: async (name) => (await read(name)).counters.stored,
    count: async (name) => (await read(name)).messageCount,
    async replay(input) {
      const query = 'mutation ($input: ReplayStreamInput!) { replayStream(input: $input) { stream { id } } }';
      await graphql(query, { input: { brokerId: b, ...input } });
    },
  };
}
