import { fieldOf, isFields, listIn } from './fields.ts';
import type { ControlCaller } from './plugin.ts';

interface ListedListener {
  readonly number: number;
  readonly port: number;
  readonly host: string;
  readonly protocol: string;
  readonly tls: boolean;
  readonly requireCertificate: boolean;
}

/** The response data of `listListeners` of the API `broker`. Mosquitto 2.1 has no `id`; commercial brokers have. */
export const listenerList = (listeners: readonly ListedListener[]) => ({
  listeners: listeners.map(({ number, port, protocol, host, tls, requireCertificate }) => ({
    id: number,
    port,
    protocol: protocol === 'MQTT' ? 'mqtt' : 'mqtt+websockets',
    'bind-address': host,
    tls,
    'require-certificate': requireCertificate,
  })),
});

/** An entry of `listListeners`. Mosquitto 2.1 reports no `id`. */
export interface ListenerEntry {
  readonly id: number | null;
  /** TCP port; 0 for a Unix domain socket. */
  readonly port: number;
  readonly bindAddress: string | null;
  /** Path of a Unix domain socket; `null` for TCP. */
  readonly socketPath: string | null;
  /** `null` if the broker reports another one. */
  readonly protocol: 'MQTT' | 'WEBSOCKET' | 'HTTP_API' | null;
  readonly tls: boolean;
  readonly requireCertificate: boolean | null;
}

const MAX_LISTENERS = 1_000;

/** Errors: those of ControlCaller. */
export async function listListeners(caller: ControlCaller): Promise<ListenerEntry[]> {
  const data = await caller.call('broker', 'listListeners');
  return listIn(data, 'listeners')
    .slice(0, MAX_LISTENERS)
    .map(readListener)
    .filter((entry) => entry !== null);
}

const MAX_PORT = 65_535;
const MAX_ID = 2_147_483_647;

const isWhole = (value: unknown, max: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function readListener(value: unknown): ListenerEntry | null {
  if (!isFields(value)) return null;
  const either = (...names: string[]) => names.map((name) => fieldOf(value, name)).find((found) => found !== undefined);
  const port = fieldOf(value, 'port');
  const socketPath = textOf(either('socket-path', 'socket_path'));
  if (!isWhole(port, MAX_PORT) || (port === 0) !== (socketPath !== null)) return null;
  const [id, requires] = [fieldOf(value, 'id'), either('require-certificate', 'require_certificate')];
  return {
    id: isWhole(id, MAX_ID) ? id : null,
    port,
    bindAddress: textOf(either('bind-address', 'bind_address')),
    socketPath,
    protocol: protocolOf(fieldOf(value, 'protocol')),
    tls: fieldOf(value, 'tls') === true,
    requireCertificate: typeof requires === 'boolean' ? requires : null,
  };
}

/** Mosquitto 2.1 names every protocol except `http_api`. */
function protocolOf(value: unknown): ListenerEntry['protocol'] {
  if (value === undefined || value === 'http_api') return 'HTTP_API';
  if (typeof value !== 'string') return null;
  return /websocket/i.test(value) ? 'WEBSOCKET' : /^mqtt$/i.test(value) ? 'MQTT' : null;
}
