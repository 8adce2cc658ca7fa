/** A command that connects a client to the broker, and leaves it connected. */
export function subscribeCommand(url: string | null, clientId = 'dev-17'): string {
  const { hostname, port, protocol } = new URL(url ?? 'mqtt://127.0.0.1:1883');
  const isSecure = protocol === 'mqtts:' || protocol === 'ssl:' || protocol === 'tls:';
  const options = isSecure ? ' --tls-use-os-certs' : '';
  return `mosquitto_sub -h ${hostname} -p ${port || (isSecure ? 8883 : 1883)}${options} -i '${quoted(clientId)}' -u "$USERNAME" -P "$PASSWORD" -t 'demo/#' -v`;
}

const quoted = (word: string): string => word.replaceAll("'", String.raw`'\''`);
