import { givenValues } from '../../platform/given-values.ts';
import type { BrokerLinkOptions } from '../mqtt/broker-link.ts';

const KEYS = [
  'id',
  'group',
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

/** What a hosted plugin connects with. Can be sent to another thread. */
export type LocalBroker = Pick<BrokerLinkOptions, (typeof KEYS)[number] | 'intake'>;

export const localOf = (link: BrokerLinkOptions): LocalBroker =>
  givenValues(Object.fromEntries(KEYS.map((key) => [key, link[key]]))) as unknown as LocalBroker;
