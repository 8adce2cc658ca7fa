/** Where the service runs, and the credentials: a session token, or the secret of a project token. */
export const url = process.env.BROKERGRAPH_URL ?? 'http://127.0.0.1:4000';
export const token = process.env.TOKEN ?? '';
export const projectId = process.env.PROJECT_ID ?? '';

export const graphqlUrl = `${url}/graphql`;
export const webSocketUrl = graphqlUrl.replace(/^http/, 'ws');
export const headers = { authorization: `Bearer ${token}` };

/** One line of JSON on the standard output. */
export const print = (value) => console.log(JSON.stringify(value));
