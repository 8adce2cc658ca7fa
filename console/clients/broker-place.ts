/** Where clients reach a broker, from the address that the service uses. */
export function placeOf(url: string | null) {
  const { hostname, port, protocol } = new URL(url ?? 'mqtt://127.0.0.1:1883');
  const isSecure = ['mqtts:', 'ssl:', 'tls:', 'wss:'].includes(protocol);
  // The port of a listener for WebSockets is no port for MQTT.
  const usual = isSecure ? '8883' : '1883';
  return { host: hostname, port: protocol.startsWith('ws') ? usual : port || usual, isSecure };
}

export const isLoopback = (host: string): boolean => /^(localhost|127\..+|\[::1\])$/.test(host);

/** A word of a shell. */
export const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
