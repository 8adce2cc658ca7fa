/** The page is at the root of the service, which a proxy may serve below a path. */
const HERE = new URL('.', location.href);

export const addressOf = (path: string): string => new URL(path, HERE).href;

export const GRAPH = addressOf('graphql');
