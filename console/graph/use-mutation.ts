import type { TadaDocumentNode } from 'gql.tada';
import { useState } from 'react';
import type { RefusedError } from './refused.ts';
import { useService } from './service.ts';

interface Mutation<Data, Variables> {
  /** Returns `null` if the service refused, and sets `error`. */
  readonly run: (variables: Variables) => Promise<Data | null>;
  readonly isBusy: boolean;
  /** Of the last call. */
  readonly error: RefusedError | null;
}

export function useMutation<Data, Variables>(document: TadaDocumentNode<Data, Variables>): Mutation<Data, Variables> {
  const { ask } = useService();
  const [state, setState] = useState<{ isBusy: boolean; error: RefusedError | null }>({ isBusy: false, error: null });
  const run = async (variables: Variables) => {
    setState({ isBusy: true, error: null });
    const { data, error } = await ask(document, variables);
    setState({ isBusy: false, error });
    return error ? null : data;
  };
  return { run, ...state };
}
