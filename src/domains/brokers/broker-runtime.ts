import { ServiceError } from '../../platform/errors.ts';
import { BrokerControls } from '../../protocol/control/broker-controls.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import type { GatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import type { BrokerLink } from '../../protocol/mqtt/broker-link.ts';
import { LeasedLink } from '../../protocol/mqtt/leased-link.ts';
import type { BrokerLinkOptions } from '../../protocol/mqtt/link-options.ts';
import { MESSAGE_LINK_LIMITS } from '../../protocol/mqtt/packet-limits.ts';
import type { ReadingLimits } from '../../protocol/mqtt/reading-limits.ts';
import { SysTopics } from './sys-topics.ts';

export interface BrokerRuntime {
  readonly id: string;
  readonly link: BrokerLink;
  /** A second connection for many messages, which would delay others on `link`. */
  readonly observer: LeasedLink;
  /** A connection for messages that users publish or delete: a broker that refuses one may close the connection. */
  readonly messages: LeasedLink;
  /** A connection for reading retained messages, one reading at a time. It is closed to stop a long reading. */
  readonly retained: LeasedLink;
  /** Client ids of this service's connections to the broker, open or not. */
  readonly clientIds: readonly string[];
  /** Prefixes of further such client ids, up to and including the last `-`. */
  readonly clientIdPrefixes: readonly string[];
  readonly controls: BrokerControls;
  readonly sys: SysTopics;
}

/** Control APIs that are probed as soon as a broker is connected. */
const EAGER: readonly ControlApi[] = ['dynamic-security', 'cedalo/inspect', 'cedalo/license', 'broker'];

/** Time for all retained messages. The reader has bounds of its own. */
const RETAINED_TIMEOUT_MS = 30_000;

interface RuntimeOptions {
  readonly link: BrokerLink;
  readonly linkOptions: BrokerLinkOptions;
  readonly readingLimits: ReadingLimits;
  readonly gateway: GatewayPlugins;
  /** Whether the broker responds to every request, so that a missing response does not mean that an API is missing. */
  readonly alwaysResponds: boolean;
  readonly onFault: (error: unknown) => void;
}

/** What belongs to one link. Nothing is opened before it is used, except the link. */
export function createRuntime(options: RuntimeOptions): BrokerRuntime {
  const { link, linkOptions, readingLimits, gateway, alwaysResponds, onFault } = options;
  const { id, timeoutMs } = linkOptions;
  const observer = new LeasedLink({ ...linkOptions, clientId: `${link.clientId}-observer` });
  const forMessages = { ...linkOptions, limits: MESSAGE_LINK_LIMITS };
  const messages = new LeasedLink({ ...forMessages, clientId: `${link.clientId}-messages` });
  const retained = new LeasedLink({
    ...forMessages,
    clientId: `${link.clientId}-retained`,
    // Mosquitto sends SUBACK behind the retained messages, and drops them for a client that is throttled.
    timeoutMs: RETAINED_TIMEOUT_MS,
    readingLimits: { unfinished: readingLimits.unfinished, time: null },
  });
  const { plugins, clientIds, clientIdPrefixes = [] } = gateway;
  const sys = new SysTopics(link);
  return {
    id,
    link,
    observer,
    messages,
    retained,
    clientIds: [link, observer, messages, retained].map(({ clientId }) => clientId).concat(clientIds),
    clientIdPrefixes,
    // Probed right after connecting: clients of plain Mosquitto are known only since they are followed, and
    // Mosquitto 2.0 does not respond to a probe for a missing API, which takes a second.
    controls: new BrokerControls(link, {
      timeoutMs,
      plugins,
      eager: EAGER,
      ...(alwaysResponds ? { silenceMs: null } : {}),
      onAccessWrite: () => sys.lookAgain(),
      onFault,
    }),
    sys,
  };
}

export async function closeRuntime({
  link,
  observer,
  messages,
  retained,
  controls,
  sys,
}: BrokerRuntime): Promise<void> {
  sys.close();
  await controls.close();
  await Promise.all([link, observer, messages, retained].map((one) => one.close()));
}

export const noResponse = (what: string, timeoutMs: number) =>
  new ServiceError('BROKER_TIMEOUT', `${what}: the broker did not respond within ${timeoutMs} ms`);
