import type { GraphiQLOptions } from 'graphql-yoga';
import type { YogaPlugin } from './yoga-plugin.ts';

const FIRST_QUERY = `# Welcome. Three steps:
#
# 1. Run SignIn with your e-mail address and password.
# 2. Put the token into the "Headers" tab below:
#      { "Authorization": "Bearer bgs_…" }
# 3. Run Fleet; then ConnectedClients with the id of a broker.

mutation SignIn {
  login(input: { email: "admin@localhost", password: "" }) { token expiresAt }
}

query Fleet {
  projects {
    nodes {
      id name viewerRole
      brokers {
        nodes { __typename id name isConnected connection { state lastError } }
      }
    }
  }
}

subscription ConnectedClients($broker: ID!) {
  connectedClients(brokerId: $broker) {
    kind sequence removed clients { clientId username connected }
  }
}
`;

export const GRAPHIQL_OPTIONS: GraphiQLOptions = {
  title: 'Brokergraph',
  defaultQuery: FIRST_QUERY,
  // The token is a header, which a WebSocket of a browser cannot carry.
  subscriptionsProtocol: 'SSE',
  shouldPersistHeaders: false,
};

/** Users enter a token, so the page may connect to this service only, and no other page may frame it. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
  "worker-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Yoga's option `renderGraphiQL`. Without external resources, whose scripts could read every token. The nine megabytes
 * of the page are created at the first request.
 */
export function offlineGraphiql(): () => Promise<Buffer<ArrayBuffer>> {
  let page: Promise<Buffer<ArrayBuffer>> | null = null;
  return () => {
    page ??= import('@graphql-yoga/render-graphiql').then(({ renderGraphiQL }) =>
      Buffer.from(renderGraphiQL(GRAPHIQL_OPTIONS)),
    );
    return page;
  };
}

export const graphiqlHeaders: YogaPlugin = {
  onResponse({ response: { headers } }) {
    if (headers.get('content-type') !== 'text/html') return;
    headers.set('content-type', 'text/html; charset=utf-8');
    headers.set('cache-control', 'no-cache');
    headers.set('content-security-policy', CONTENT_SECURITY_POLICY);
    headers.set('referrer-policy', 'no-referrer');
    headers.set('x-content-type-options', 'nosniff');
  },
};
