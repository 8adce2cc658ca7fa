import { ServiceError } from '../../platform/errors.ts';
import { BrokerLink } from '../../protocol/mqtt/broker-link.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import { SILENT } from '../../protocol/mqtt/link-failure.ts';
import type { Administrator } from './administrator.ts';

interface MosquittoWatchOptions {
  readonly brokerId: string;
  readonly url: string;
  readonly administrator: Administrator;
  /** Timeout of each ping in milliseconds, and interval between a response and the next ping. */
  readonly pingMs: number;
  /** Called once, after MISSED_PINGS consecutive pings without a response. */
  readonly onSilent: () => void;
}

export const MISSED_PINGS = 4;

export const watchClientId = (brokerId: string): string => `brokergraph-${brokerId}-watch`;

/** Detects a process that hangs by pings. A refused or closed connection counts as a response. */
export function watchMosquitto({ brokerId, url, administrator, pingMs, onSilent }: MosquittoWatchOptions): Stop {
  const link = new BrokerLink({
    id: brokerId,
    url,
    ...administrator,
    clientId: watchClientId(brokerId),
    timeoutMs: pingMs,
    // A keepalive timeout would close the connection, and the count of missed pings would be lost.
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
