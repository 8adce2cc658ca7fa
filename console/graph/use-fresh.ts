import type { TadaDocumentNode } from 'gql.tada';
import { useEffect, useRef, useState } from 'react';
import type { RefusedError } from './refused.ts';
import { useService } from './service.ts';

interface Fresh<Data> {
  /** The last result, also while a newer one is on its way and if a later request failed. */
  readonly data: Data | null;
  readonly error: RefusedError | null;
  /** Whether the data is that of the current variables and revision. */
  readonly isCurrent: boolean;
}

/**
 * The result of a query, asked again with each new `revision`. At most one request is on its way, and the next one with
 * the same variables waits `pauseMs` milliseconds: of several changes meanwhile only the last leads to a request.
 */
export function useFresh<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  revision: unknown,
  pauseMs = 0,
): Fresh<Data> {
  const { ask } = useService();
  const key = JSON.stringify([variables, revision]);
  const [fresh, setFresh] = useState<{ data: Data | null; error: RefusedError | null; key: string }>({
    data: null,
    error: null,
    key: '',
  });
  const isAsking = useRef(false);
  const wanted = useRef({ key, variables });
  wanted.current = { key, variables };
  const endPause = useRef<() => void>(() => undefined);
  useEffect(() => endPause.current(), [JSON.stringify(variables)]);
  useEffect(() => {
    if (isAsking.current) return;
    isAsking.current = true;
    const renew = async () => {
      for (let asked = ''; asked !== wanted.current.key; ) {
        const { key: now, variables: values } = wanted.current;
        asked = now;
        const { data, error } = await ask(document, values);
        setFresh((before) => ({ data: data ?? before.data, error, key: now }));
        if (pauseMs === 0) continue;
        await new Promise<void>((resolve) => {
          endPause.current = resolve;
          setTimeout(resolve, pauseMs);
        });
      }
      isAsking.current = false;
    };
    void renew();
  }, [key]);
  return { data: fresh.data, error: fresh.error, isCurrent: fresh.key === key };
}
