export interface FreeBroker {
  readonly id: string;
  readonly name: string;
  readonly url: string | null;
}

const MQTT_PORT = 1883;

/** Where the other nodes connect to a broker: the host and the port of its address. */
export function placeOf({ url }: FreeBroker): { readonly address: string; readonly port: number } {
  const { hostname, port } = new URL(url ?? 'mqtt://127.0.0.1');
  return { address: hostname, port: port === '' ? MQTT_PORT : Number(port) };
}
