import type { TadaDocumentNode } from 'gql.tada';
import { useEffect, useState } from 'react';
import { onReturn, pause } from './connectivity.ts';
import type { RefusedError } from './refused.ts';
import { type Service, useService } from './service.ts';

interface Asked<Data> {
  /** The last result, also if a later request failed. */
  readonly data: Data | null;
  readonly error: RefusedError | null;
  /** Asks again at once, after a change. */
  readonly renew: () => void;
}

type Result<Data> = Pick<Asked<Data>, 'data' | 'error'>;

/** Wait before a request is sent again that had no response. */
const RETRY_MS = 2_000;

/**
 * The result of a query, asked again every `everyMs` milliseconds while the page is visible. Without a response the
 * request is sent again. `send`: how the query is sent. Default: with the credentials of the page.
 */
export function useQuery<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  everyMs: number | null = null,
  send?: Service['ask'],
): Asked<Data> {
  const service = useService();
  const [asked, setAsked] = useState<Result<Data>>({ data: null, error: null });
  const [changes, setChanges] = useState(0);
  // Variables are created at each rendering, so they are compared by their text.
  const key = JSON.stringify(variables);
  useEffect(() => {
    let isWanted = true;
    const renew = async () => {
      const { data, error } = await (send ?? service.ask)(document, variables);
      if (!isWanted) return;
      setAsked((before) => ({ data: data ?? before.data, error }));
      if (error?.code !== 'UNREACHABLE' || everyMs !== null) return;
      await pause(RETRY_MS);
      if (isWanted) await renew();
    };
    void renew();
    const stop = everyMs === null ? undefined : onReturn(() => void renew());
    const timer = everyMs === null ? undefined : setInterval(() => isHidden() || void renew(), everyMs);
    return () => {
      isWanted = false;
      clearInterval(timer);
      stop?.();
    };
  }, [service, key, everyMs, changes]);
  return { ...asked, renew: () => setChanges((before) => before + 1) };
}

const isHidden = (): boolean => document.visibilityState === 'hidden';
