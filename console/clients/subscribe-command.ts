import { placeOf, quoted } from './broker-place.ts';

/** A command that connects a client to the broker, and leaves it connected. */
export function subscribeCommand(url: string | null, clientId = 'dev-17'): string {
  const { host, port, isSecure } = placeOf(url);
  const options = isSecure ? ' --tls-use-os-certs' : '';
  return `mosquitto_sub -h ${host} -p ${port}${options} -i ${quoted(clientId)} -u "$USERNAME" -P "$PASSWORD" -t 'demo/#' -v`;
}
