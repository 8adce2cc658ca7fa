import { withoutNulls } from '../../platform/without-nulls.ts';
import type { BrokerLinkOptions } from '../mqtt/link-options.ts';

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
export type HostedLinkOptions = Pick<BrokerLinkOptions, (typeof KEYS)[number] | 'readingLimits'>;

export const hostedLinkOptions = (link: BrokerLinkOptions): HostedLinkOptions =>
  withoutNulls(Object.fromEntries(KEYS.map((key) => [key, link[key]]))) as unknown as HostedLinkOptions;
