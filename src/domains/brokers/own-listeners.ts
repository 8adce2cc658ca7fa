import { isLocalHost } from '../../protocol/network/allowed-hosts.ts';
import type { BrokerCache, BrokerRecord } from './broker-cache.ts';

/** Whether a URL leads to a listener of a broker. */
export type LeadsToOwnBroker = (url: string) => boolean;

const PORTS: Readonly<Record<string, string>> = { 'mqtt:': '1883', 'mqtts:': '8883', 'ws:': '80', 'wss:': '443' };

/**
 * Whether a URL leads to a broker that this service runs at the moment, at the host of the broker's own URL. Everybody
 * may use these addresses although they are internal. The ports of a stopped broker may belong to another program.
 */
export const leadsToOwnBroker =
  (brokers: Pick<BrokerCache, 'all'>): LeadsToOwnBroker =>
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : null;
    const port = url && (url.port || PORTS[url.protocol]);
    if (!url || port === undefined || !(url.protocol in PORTS)) return false;
    return Array.from(brokers.all()).some((broker) => isListening(broker, url.hostname, Number(port)));
  };

function isListening({ type, state, url, listeners }: BrokerRecord, hostname: string, port: number): boolean {
  if (type !== 'CLOUD' || state !== 'ACTIVE' || url === null) return false;
  const own = new URL(url);
  const isHost = hostname === own.hostname || (hostname === 'localhost' && isLocalHost(own.hostname));
  return isHost && (port === Number(own.port) || listeners.some((listener) => listener.port === port));
}
