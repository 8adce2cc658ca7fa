import type { ServerResponse } from 'node:http';
import type { GraphiQLOptions } from 'graphql-yoga';

const FIRST_QUERY = `# Welcome. Three steps:
#
# 1. Run SignIn with your e-mail address and password.
# 2. Put the token into the "Headers" tab below:
#      { "Authorization": "Bearer bgs_…" }
# 3. Run Fleet; then ConnectedClients with the id of a broker.

mutation SignIn {
  login(input: { email: "admin@localhost", password: "" }) {
    token
    expiresAt
  }
}

query Fleet {
  projects {
    nodes {
      id
      name
      viewerRole
      brokers {
        totalCount
        nodes {
          __typename
          id
          name
          isConnected
          connection {
            state
            lastError
          }
          connectedClients(first: 20) {
            totalCount
            isComplete
            nodes {
              clientId
              username
              address
              protocolVersion
              connected
            }
          }
        }
      }
    }
  }
}

subscription ConnectedClients($broker: ID!) {
  connectedClients(brokerId: $broker) {
    kind
    sequence
    clients {
      clientId
      username
      connected
    }
    removed
  }
}
`;

const GRAPHIQL_OPTIONS: GraphiQLOptions = {
  title: 'Brokergraph',
  defaultQuery: FIRST_QUERY,
  // The token is a header, which a WebSocket of a browser cannot carry.
  subscriptionsProtocol: 'SSE',
  shouldPersistHeaders: false,
};

/** Users enter a token, so the page may connect to this service only, and no other page may frame it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline' blob:",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  'worker-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * GraphiQL without external resources, whose scripts could read every token. Its nine megabytes are created at the
 * first request.
 */
export class GraphiqlPage {
  #page: Promise<Buffer> | null = null;

  async serve(res: ServerResponse): Promise<void> {
    this.#page ??= import('@graphql-yoga/render-graphiql').then(({ renderGraphiQL }) =>
      Buffer.from(renderGraphiQL(GRAPHIQL_OPTIONS)),
    );
    const page = await this.#page;
    if (res.destroyed) return;
    res.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': page.length,
      'cache-control': 'no-cache',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    res.end(page);
  }
}
