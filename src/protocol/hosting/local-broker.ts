import type { BrokerLinkOptions } from '../mqtt/broker-link.ts';

/** How to reach the broker that something stands beside: its address, credentials and TLS. Can be told to another thread. */
export type LocalBroker = Pick<BrokerLinkOptions, (typeof KEYS)[number] | 'intake'>;

const KEYS = [
  'id',
  'url',
  'username',
  'password',
  'ca',
  'cert',
  'key',
  'verifyCa',
  'timeoutMs',
  'allowedHosts',
  'inside',
] as const satisfies (keyof BrokerLinkOptions)[];

/** Of a link's settings what another connection to the same broker needs. */
export const localOf = (link: BrokerLinkOptions): LocalBroker =>
  Object.fromEntries(
    KEYS.filter((key) => link[key] !== undefined).map((key) => [key, link[key]]),
  ) as unknown as LocalBroker;
