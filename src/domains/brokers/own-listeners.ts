import { portOf } from '../../protocol/mqtt/connect-options.ts';
import { isLocalHost } from '../../protocol/network/allowed-hosts.ts';
import type { BrokerCache, BrokerRecord } from './broker-cache.ts';

/** Whether a URL leads to a listener of a broker. */
export type LeadsToOwnBroker = (url: string) => boolean;

/**
 * Whether a URL leads to a broker that this service runs at the moment, at the host of the broker's own URL. Everybody
 * may use these addresses although they are internal, and an address that was allowed stays so. The ports of a stopped
 * broker may belong to another program.
 */
export const leadsToOwnBroker =
  (brokers: Pick<BrokerCache, 'all'>): LeadsToOwnBroker =>
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : null;
    const port = url && portOf(url);
    return url !== null && port !== null && brokers.all().some((broker) => isListening(broker, url.hostname, port));
  };

function isListening({ type, state, url, listeners }: BrokerRecord, hostname: string, port: number): boolean {
  if (type !== 'CLOUD' || state !== 'ACTIVE' || url === null) return false;
  const own = new URL(url);
  const isHost = hostname === own.hostname || (hostname === 'localhost' && isLocalHost(own.hostname));
  return isHost && (port === portOf(own) || listeners.some((listener) => listener.port === port));
}
