import { type DocumentNode, print } from '@0no-co/graphql.web';
import type { TadaDocumentNode } from 'gql.tada';
import { RefusedError } from './refused.ts';

export interface Result<Data> {
  /** `null` if the operation was refused. */
  readonly data: Data | null;
  /** Errors of single fields come with data, in which these fields are null. */
  readonly error: RefusedError | null;
}

/** Where an operation is sent, and with which credentials. */
export interface Target {
  /** Address of the graph. */
  readonly graph: string;
  readonly credentials: RequestCredentials;
  /** `Authorization`. Default: none. */
  readonly authorization?: string;
  /** The service does not accept the credentials. */
  readonly onRefused: () => void;
}

const texts = new WeakMap<object, string>();

/** The text of an operation. */
export function textOf(document: object): string {
  const text = texts.get(document) ?? print(document as DocumentNode);
  texts.set(document, text);
  return text;
}

/** Runs a query or a mutation. */
export async function post<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { graph, credentials, authorization, onRefused }: Target,
): Promise<Result<Data>> {
  try {
    const response = await fetch(graph, {
      method: 'POST',
      credentials,
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      body: JSON.stringify({ query: textOf(document), variables }),
    });
    const { data, errors = [] } = await response.json();
    const [error] = errors;
    // A service that is starting, or a proxy in front of one that has ended, responds without a result.
    if (data === undefined && !error) throw new Error(`Status ${response.status}`);
    const requestId = response.headers.get('x-request-id');
    if (error?.extensions.code === 'UNAUTHORIZED') onRefused();
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
