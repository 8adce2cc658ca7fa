import type { TadaDocumentNode } from 'gql.tada';
import { useEffect, useRef, useState } from 'react';
import { ask } from '../graph/ask.ts';
import type { RefusedError } from '../graph/refused.ts';

interface Fresh<Data> {
  /** The last result of these variables, also if a later request failed. */
  readonly data: Data | null;
  readonly error: RefusedError | null;
}

/** Shortest time between two requests of the same query, in milliseconds. */
const PAUSE_MS = 500;

/** The result of a query, asked again after `version` changed: at most one request at a time, and two per second. */
export function useFresh<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  version: unknown,
): Fresh<Data> {
  const [asked, setAsked] = useState<Fresh<Data>>({ data: null, error: null });
  const renewal = useRef<(() => void) | null>(null);
  // Variables are created at each rendering, so they are compared by their text.
  const key = JSON.stringify(variables);
  useEffect(() => {
    let isWanted = true;
    let isBusy = false;
    let isOld = false;
    const renew = async () => {
      isOld = isBusy;
      if (isBusy) return;
      isBusy = true;
      const { data, error } = await ask(document, variables);
      if (!isWanted) return;
      setAsked((before) => ({ data: data ?? before.data, error }));
      setTimeout(() => {
        isBusy = false;
        if (isOld && isWanted) void renew();
      }, PAUSE_MS);
    };
    renewal.current = () => void renew();
    void renew();
    return () => {
      isWanted = false;
    };
  }, [key]);
  const seen = useRef(version);
  useEffect(() => {
    if (seen.current !== version) renewal.current?.();
    seen.current = version;
  }, [version]);
  return asked;
}
