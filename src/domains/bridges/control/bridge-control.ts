import { type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import type { ControlEvent } from '../../../protocol/control/envelope.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeApi } from '../model/bridge-kind.ts';
import { isTooDeep, MAX_DEPTH } from './config-secrets.ts';

/** The event with the `status` of all connections of a bridge, at each change. */
export const BRIDGE_STATUS = 'bridgeStatus';

/** Characters of JSON, of what is given and of what brokers tell: masking takes a second for a million. */
const MAX_LENGTH = 1_000_000;

const BRIDGE_ID = /^[a-z0-9][a-z0-9._-]{0,99}-bridge$/i;

/**
 * The control API of a bridge by its id, as `mqtt-bridge`, whoever runs it: its schema, its configuration, its status. Null: no bridge
 * can have this id.
 *
 * Errors of its commands beside the caller's own: INVALID (with `info.issues` where the text tells what is; paths are JSON pointers into the
 * configuration), BROKER_REJECTED with the broker's text, or for an answer that is none.
 */
export const bridgeApi = (id: string): BridgeApi | null => (BRIDGE_ID.test(id) ? (`cedalo/${id}` as BridgeApi) : null);

export async function getBridgeSchema(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  return told(api, 'getSchema', await caller.call(api, 'getSchema'), isFields);
}

/** As the provider tells it: secrets of a commercial broker's bridge may be in it. */
export async function getBridgeConfig(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  return told(api, 'getConfig', await caller.call(api, 'getConfig'), isFields);
}

/** Whole; `more`: further fields of the command. One that is the same as before, or waits to be applied already, is as good as taken. */
export async function updateBridgeConfig(
  caller: ControlCaller,
  api: BridgeApi,
  config: unknown,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  let data: unknown;
  try {
    data = await caller.call(api, 'updateConfig', { configChange: config, ...more });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (/^identical configchange/i.test(String(error.info?.brokerError))) return;
    throw withIssue(error);
  }
  const response = isFields(data) ? data.response : undefined;
  // Nothing told is nothing refused.
  if (response === undefined || response === null || /^(success|ok)$/i.test(String(response))) return;
  throw new ServiceError('BROKER_REJECTED', `The broker did not take the configuration: ${shown(response)}`);
}

/** Any JSON: what it holds is the provider's choice, usually one entry for each connection. */
export async function getBridgeStatus(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  return told(
    api,
    'getStatus',
    await caller.call(api, 'getStatus'),
    (data) => typeof data === 'object' && data !== null,
  );
}

/** Silent where whoever serves the API tells no such events. */
export function onBridgeStatus(caller: ControlCaller, api: BridgeApi, listener: (status: unknown) => void): Stop {
  return caller.onEvent(api, ({ event, status }: ControlEvent) => {
    if (event === BRIDGE_STATUS && isReadable(status)) listener(status);
  });
}

/** What no bridge takes. */
export function configSizeIssues(config: unknown): readonly InputIssue[] {
  if (isTooDeep(config)) return [{ path: '/', reason: `must not be nested deeper than ${MAX_DEPTH} levels` }];
  if (JSON.stringify(config).length <= MAX_LENGTH) return [];
  return [{ path: '/', reason: `must not have more than ${MAX_LENGTH} characters` }];
}

function told(api: BridgeApi, command: string, data: unknown, isAnswer: (data: unknown) => boolean): unknown {
  if (isAnswer(data) && isReadable(data)) return data;
  const what = isAnswer(data) ? 'too much to be read' : 'nothing that can be read';
  throw new ServiceError('BROKER_REJECTED', `The broker answered ${command} of ${api} with ${what}`, {
    info: { api, command },
  });
}

const isReadable = (data: unknown): boolean => !isTooDeep(data) && JSON.stringify(data ?? null).length <= MAX_LENGTH;

/** What a plugin of ours refused over MQTT, where there is only the text. */
function withIssue(error: ServiceError): ServiceError {
  if (error.code !== 'INVALID' || error.info?.issues !== undefined) return error;
  const [, path, reason] = /^Invalid (\/\S*): (.+)$/s.exec(String(error.info?.brokerError)) ?? [];
  return path === undefined || reason === undefined ? error : invalid([{ path, reason }]);
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : typeof value).slice(0, 500);
