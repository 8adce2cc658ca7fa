import { ServiceError } from '../../platform/errors.ts';
import { BrokerLink } from '../../protocol/mqtt/broker-link.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import { SILENT } from '../../protocol/mqtt/link-failure.ts';
import type { Administrator } from './administrator.ts';

export interface MosquittoWatchOptions {
  readonly brokerId: string;
  /** Where it is reached, as `mqtt://127.0.0.1:1883`. */
  readonly url: string;
  readonly administrator: Administrator;
  /** How long each ping may take, and how long after an answer the next one follows. */
  readonly pingMs: number;
  /** Once: of so many pings in a row it answered none. */
  readonly onSilent: () => void;
}

/** In a row. */
export const MISSED_PINGS = 4;

export const watchClientId = (brokerId: string): string => `brokergraph-${brokerId}-watch`;

/**
 * Asks a Mosquitto by pings whether it still serves its clients: a process may hang and be there all the same. A connection that it
 * refuses or closes is an answer, too: it may have as many as it can take.
 */
export function watchMosquitto({ brokerId, url, administrator, pingMs, onSilent }: MosquittoWatchOptions): Stop {
  const link = new BrokerLink({
    id: brokerId,
    url,
    ...administrator,
    clientId: watchClientId(brokerId),
    timeoutMs: pingMs,
    // It would end the connection, and with it what is known.
    keepaliveSeconds: 0,
    sessionExpirySeconds: 0,
  });
  let missed = 0;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const ask = async () => {
    const error: unknown = await link.ping().then(
      () => null,
      (reason) => reason,
    );
    if (isStopped) return;
    const isLate = error instanceof ServiceError && error.code === 'BROKER_TIMEOUT';
    const isSilent = isLate || (error !== null && link.status.lastError === SILENT);
    missed = isSilent ? missed + 1 : 0;
    if (missed === MISSED_PINGS) onSilent();
    else timer = setTimeout(ask, isLate ? 0 : pingMs).unref();
  };
  link.open();
  timer = setTimeout(ask, pingMs).unref();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    void link.close();
  };
}
