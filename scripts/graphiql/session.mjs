/** The session of the browser, which requests send by themselves, in a cookie that no script can read. */

const { pathname, search } = location;

/** Posts an operation. Returns the result, also if the service refuses the operation. */
export async function post(params, headers = {}) {
  const response = await fetch(pathname, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json', ...headers },
    body: JSON.stringify(params),
  });
  return response.json();
}

/** Whether the browser has a session. Without one, the sign-in of the console opens, which leads back here. */
export async function hasSession() {
  const { errors: [error] = [] } = await post({ query: '{ viewer { kind } }' });
  if (error?.extensions.code !== 'UNAUTHORIZED') return true;
  location.replace(`./${search}#/explorer`);
  return false;
}

new BroadcastChannel('brokergraph-session').onmessage = () => void hasSession();
