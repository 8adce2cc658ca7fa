import { useEffect, useRef, useState } from 'react';
import { onReturn, pause } from '../graph/connectivity.ts';
import { OWN_SERVICE } from '../graph/own-service.ts';
import { RefusedError } from '../graph/refused.ts';
import { onSessionRefused } from '../graph/session-end.ts';
import { currentViewer, onOtherTab } from './session.ts';
import type { Viewer } from './viewer.ts';

const RETRY_MS = 2_000;
const { live } = OWN_SERVICE;

interface Session {
  /** `undefined` until it is known; `null`: the sign-in is missing. */
  readonly viewer: Viewer | null | undefined;
  readonly error: RefusedError | null;
  /** Whether the page was in use when the session ended. */
  readonly hasEnded: boolean;
  readonly renew: () => void;
}

/**
 * The session of the browser, which ends with a sign-out in any tab, at its expiry, or when it is revoked. The service
 * then closes the connection for live events, which is open on all screens.
 */
export function useSession(): Session {
  const [viewer, setViewer] = useState<Viewer | null | undefined>(undefined);
  const [error, setError] = useState<RefusedError | null>(null);
  const [hasEnded, setEnded] = useState(false);
  const isReading = useRef(false);
  /** Whether another tab has signed in or out since the last request. */
  const isOutdated = useRef(false);
  const sessionId = useRef<string | null>(null);
  const read = async (): Promise<void> => {
    isOutdated.current = false;
    try {
      const current = await currentViewer();
      const currentId = current?.sessionId ?? null;
      if (currentId !== sessionId.current) live.close();
      if (currentId !== null) live.open();
      setEnded(currentId === null && sessionId.current !== null);
      sessionId.current = currentId;
      // An equal viewer is the same object, so that the screens are not rendered again.
      setViewer((before) => (JSON.stringify(before) === JSON.stringify(current) ? before : current));
      setError(null);
    } catch (reason) {
      setError(reason instanceof RefusedError ? reason : new RefusedError(String(reason), 'UNREACHABLE'));
      await pause(RETRY_MS);
      await read();
    }
  };
  const renew = async () => {
    if (isReading.current) return;
    isReading.current = true;
    do await read();
    while (isOutdated.current);
    isReading.current = false;
  };
  useEffect(() => {
    onOtherTab(() => {
      isOutdated.current = true;
      void renew();
    });
    void renew();
  }, []);
  const isSignedIn = viewer != null;
  useEffect(() => {
    if (!isSignedIn) return;
    const check = () => void renew();
    // While the computer sleeps or the page is hidden, no message may arrive.
    const stops = [onSessionRefused(check), onReturn(check)];
    return () => {
      for (const stop of stops) stop();
    };
  }, [isSignedIn]);
  return { viewer, error, hasEnded, renew: () => void renew() };
}
