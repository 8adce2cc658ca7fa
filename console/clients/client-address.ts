/**
 * The address of the screen of a client. Client ids may contain any characters, and the router decodes percent signs
 * once more than it encodes them, so `~` takes their place.
 */
export const clientPath = (brokerId: string, clientId: string): string =>
  `/brokers/${brokerId}/clients/${encodeURIComponent(clientId).replaceAll('~', '%7E').replaceAll('%', '~')}`;

export function clientIdIn(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('~', '%'));
  } catch {
    return part;
  }
}
