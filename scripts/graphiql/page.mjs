/** The page at /graphql in a browser. `bundle.mjs` bundles it with its packages. */

import { GraphiQL } from 'graphiql';
import { buildClientSchema, getIntrospectionQuery, getOperationAST } from 'graphql';
import { createClient } from 'graphql-sse';
import { createElement, useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import 'graphiql/style.css';
import './page.css';

const FIRST_QUERY = `# Welcome. Two steps:
#
# 1. Run SignIn with your password. The page
#    copies the token into "Headers" below.
# 2. Run Fleet; then ConnectedClients with
#    the id of a broker.

mutation SignIn {
  login(input: {
    email: "admin@localhost"
    password: ""
  }) { token expiresAt }
}

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

const headersWith = (token) => JSON.stringify({ Authorization: `Bearer ${token}` }, null, 2);
const NO_TOKEN = headersWith('');
const SCHEMA_DELAY_MS = 300;
const { pathname } = location;

/** Without an `Authorization` that has no token, which the service would refuse. */
const sendable = (headers = {}) =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => !/^bearer\s*$/i.test(value)));

async function post(params, headers) {
  const response = await fetch(pathname, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json', ...sendable(headers) },
    body: JSON.stringify(params),
  });
  return response.json();
}

/** A session token that a mutation has returned. */
const tokenIn = ({ data }) => Object.values(data ?? {}).find((payload) => payload?.token?.startsWith?.('bgs_'))?.token;

/** `undefined` while the user edits the text. */
function authorizationIn(text) {
  try {
    const fields = Object.entries(JSON.parse(text)).map(([name, value]) => [name.toLowerCase(), value]);
    return Object.fromEntries(fields).authorization;
  } catch {
    return undefined;
  }
}

/** The schema as the caller may read it. Without a token that is usually none, which is not an error of the page. */
function useSchema(authorization) {
  const [schema, setSchema] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    const load = async () => {
      const query = getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true });
      const { data } = await post({ query }, authorization ? { authorization } : {});
      if (isCurrent && data) setSchema(buildClientSchema(data));
    };
    const timer = setTimeout(() => load().catch(() => undefined), SCHEMA_DELAY_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [authorization]);
  return schema;
}

function Page() {
  const [headers, setHeaders] = useState(NO_TOKEN);
  const schema = useSchema(authorizationIn(headers));
  const fetcher = useMemo(
    () =>
      async (params, { headers: sent, documentAST } = {}) => {
        if (documentAST && getOperationAST(documentAST, params.operationName)?.operation === 'subscription') {
          return createClient({ url: pathname, headers: sendable(sent), retryAttempts: 0 }).iterate(params);
        }
        const result = await post(params, sent);
        const token = tokenIn(result);
        if (token !== undefined) setHeaders(headersWith(token));
        return result;
      },
    [],
  );
  return createElement(GraphiQL, {
    fetcher,
    schema,
    headers,
    defaultQuery: FIRST_QUERY,
    defaultHeaders: headers,
    defaultEditorToolsVisibility: 'headers',
    onEditHeaders: setHeaders,
    shouldPersistHeaders: false,
  });
}

createRoot(document.getElementById('graphiql')).render(createElement(Page));
