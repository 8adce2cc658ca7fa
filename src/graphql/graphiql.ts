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

export const GRAPHIQL_OPTIONS: GraphiQLOptions = {
  title: 'Brokergraph',
  defaultQuery: FIRST_QUERY,
  // The token is a header, which a WebSocket of a browser cannot carry.
  subscriptionsProtocol: 'SSE',
  shouldPersistHeaders: false,
};

/**
 * GraphiQL as one page that loads nothing from elsewhere: networks of brokers are often closed, and a script of somebody
 * else's server would see every token. Nine megabytes, so it is read when somebody first asks, and made once.
 */
export function graphiqlRenderer(): (options: GraphiQLOptions) => Promise<string> {
  let page: Promise<string> | null = null;
  return (options) => {
    page ??= import('@graphql-yoga/render-graphiql').then(({ renderGraphiQL }) => renderGraphiQL(options));
    return page;
  };
}
