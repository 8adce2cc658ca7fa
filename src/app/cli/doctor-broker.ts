import { ServiceError } from '../../platform/errors.ts';
import { within } from '../../platform/scheduling/within.ts';
import { type BrokerPlugin, listPlugins, otherDecidingPlugins } from '../../protocol/control/broker-plugins.ts';
import { isAtLeast, mosquittoVersionOf } from '../../protocol/control/mosquitto-version.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import type { BrokerSession } from '../../protocol/mqtt/broker-session.ts';

/** What a broker reports about itself. `null` fields are not reported. */
export interface BrokerFacts {
  /** As in `$SYS/broker/version`. */
  readonly brokerVersion: string | null;
  readonly plugins: readonly BrokerPlugin[] | null;
  /** What the log of this version of Mosquitto does not contain. */
  readonly logGaps: readonly string[];
}

const VERSION = '$SYS/broker/version';
/** The version is retained, so it arrives with the acknowledgement of the subscription. */
const VERSION_MS = 5_000;
const MAX_VERSION = 255;

export async function brokerFacts(session: BrokerSession, controls: ControlCaller): Promise<BrokerFacts> {
  const [brokerVersion, plugins] = await Promise.all([readVersion(session), listPlugins(controls).catch(() => null)]);
  return { brokerVersion, plugins, logGaps: logGaps(brokerVersion) };
}

async function readVersion(session: BrokerSession): Promise<string | null> {
  const version = new Promise<string>((resolve, reject) => {
    const listener = ({ payload }: { readonly payload: Uint8Array }) =>
      resolve(Buffer.from(payload).toString().slice(0, MAX_VERSION));
    session.subscribe(VERSION, listener).catch(reject);
  });
  const text = `The broker did not publish ${VERSION}`;
  return within(VERSION_MS, version, () => new ServiceError('BROKER_TIMEOUT', text)).catch(() => null);
}

/** Recommendations on the plugins of the broker. */
export function pluginAdvice({ plugins }: BrokerFacts): string[] {
  const others = otherDecidingPlugins(plugins ?? []);
  return others.length === 0
    ? []
    : [`Other plugins may decide on access, too: ${others.join(', ')}. Explanations evaluate dynamic security only`];
}

/** Whether `enable_control_api` of Mosquitto 2.1 is no setting of this broker. */
export function lacksControlApi(brokerVersion: string | null): boolean {
  const version = mosquittoVersionOf(brokerVersion);
  return version !== null && !isAtLeast(version, [2, 1, 0]);
}

function logGaps(brokerVersion: string | null): string[] {
  const version = mosquittoVersionOf(brokerVersion);
  if (version === null) return [];
  const isSince = (...least: [number, number, number]) => isAtLeast(version, least);
  return [
    isSince(2, 1, 1)
      ? 'the user names of refused connections'
      : isSince(2, 0, 13)
        ? 'the user names of refused connections, and their addresses while several connections are being opened'
        : 'the client ids and user names of refused connections',
    ...(isSince(2, 1, 0) ? [] : ['refused connections over WebSocket', 'whether a connection is encrypted']),
    ...(isSince(2, 1, 1) ? [] : ['which connection of a client id ended']),
    'denied messages and subscriptions',
  ];
}
