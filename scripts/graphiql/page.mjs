/** GraphiQL with the session of the browser. */

import { GraphiQL } from 'graphiql';
import { buildClientSchema, getIntrospectionQuery, getOperationAST } from 'graphql';
import { createClient } from 'graphql-sse';
import { createElement, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { hasSession, post } from './session.mjs';
import 'graphiql/style.css';
import './page.css';

const FIRST_QUERY = `# You are signed in. Run Fleet, then
# ConnectedClients with the id of a broker.
#
# To act as another user or a project token,
# set "Authorization" in "Headers" below.

query Fleet {
  projects {
    nodes {
      id name viewerRole
      brokers {
        nodes {
          __typename id name isConnected
          connection { state lastError }
        }
      }
    }
  }
}

subscription ConnectedClients($broker: ID!) {
  connectedClients(brokerId: $broker) {
    kind sequence removedIds
    clients { clientId username isConnected }
  }
}
`;

const { pathname } = location;

const hasOwnCredentials = (headers = {}) => Object.keys(headers).some((name) => /^authorization$/i.test(name));

async function fetcher(params, { headers, documentAST } = {}) {
  if (documentAST && getOperationAST(documentAST, params.operationName)?.operation === 'subscription') {
    return createClient({ url: pathname, headers, retryAttempts: 0 }).iterate(params);
  }
  const result = await post(params, headers);
  if (result.errors?.[0]?.extensions?.code === 'UNAUTHORIZED' && !hasOwnCredentials(headers)) await hasSession();
  return result;
}

/** The schema as the session may read it. */
function useSchema() {
  const [schema, setSchema] = useState(null);
  useEffect(() => {
    const query = getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true });
    post({ query }).then(
      ({ data }) => data && setSchema(buildClientSchema(data)),
      () => undefined,
    );
  }, []);
  return schema;
}

function Page() {
  const schema = useSchema();
  return createElement(GraphiQL, { fetcher, schema, defaultQuery: FIRST_QUERY, shouldPersistHeaders: false });
}

export const show = () => createRoot(document.getElementById('graphiql')).render(createElement(Page));
