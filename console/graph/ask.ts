import { type DocumentNode, print } from '@0no-co/graphql.web';
import type { TadaDocumentNode } from 'gql.tada';
import { GRAPH } from './addresses.ts';
import { RefusedError } from './refused.ts';
import { announceSessionRefused } from './session-end.ts';

interface Result<Data> {
  /** `null` if the operation was refused. */
  readonly data: Data | null;
  /** Errors of single fields come with data, in which these fields are null. */
  readonly error: RefusedError | null;
}

const texts = new WeakMap<object, string>();

/** The text of an operation. */
export function textOf(document: object): string {
  const text = texts.get(document) ?? print(document as DocumentNode);
  texts.set(document, text);
  return text;
}

/** Runs a query or a mutation. The cookie of the session comes with each request, so there is no token here. */
export const ask = <Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables) =>
  send(document, variables, 'same-origin');

/** Runs an operation of the sign-in. The service would refuse it with the cookie of a session that has ended. */
export const askWithoutSession = <Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables) =>
  send(document, variables, 'omit');

async function send<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  credentials: RequestCredentials,
): Promise<Result<Data>> {
  try {
    const response = await fetch(GRAPH, {
      method: 'POST',
      credentials,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: textOf(document), variables }),
    });
    const { data, errors = [] } = await response.json();
    const [error] = errors;
    // A service that is starting, or a proxy in front of one that has ended, responds without a result.
    if (data === undefined && !error) throw new Error(`Status ${response.status}`);
    const requestId = response.headers.get('x-request-id');
    if (error?.extensions.code === 'UNAUTHORIZED') announceSessionRefused();
    return { data: data ?? null, error: refusedBy(errors, requestId) };
  } catch (reason) {
    return { data: null, error: new RefusedError(String(reason), 'UNREACHABLE') };
  }
}

interface GraphError {
  readonly message: string;
  readonly extensions: { readonly code: string; readonly info?: Readonly<Record<string, unknown>> };
}

/** The code is that of the first error. Fields often fail together with the same message. */
function refusedBy(errors: readonly GraphError[], requestId: string | null): RefusedError | null {
  const [first] = errors;
  if (first === undefined) return null;
  const { code, info = {} } = first.extensions;
  const [message = '', ...others] = new Set(errors.map((error) => error.message));
  return new RefusedError(message, code, { requestId, info, others });
}
