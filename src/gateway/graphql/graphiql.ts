import type { ServerResponse } from 'node:http';
import type { GraphiQLOptions } from 'graphql-yoga';

const FIRST_QUERY = `# Welcome. Three steps:
#
# 1. Run SignIn with your e-mail address and password.
# 2. Put the token into the "Headers" tab below:
#      { "Authorization": "Bearer bgs_…" }
# 3. Run Fleet; then WhoIsThere with the id of a broker.

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

subscription WhoIsThere($broker: ID!) {
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

/** What is in the page may run, and it may talk to this service alone: a token is typed into it. No other page may show it as its own. */
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
 * GraphiQL as one page that loads nothing from elsewhere: networks of brokers are often closed, and a script of somebody
 * else's server would see every token. Nine megabytes, so it is read when somebody first asks, and made once: all who ask are
 * sent the same bytes, since anybody may ask, and read as slowly as they like.
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
