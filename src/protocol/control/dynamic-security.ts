import { isFields } from './fields.ts';
import type { ControlCall } from './plugin.ts';

export const DYNSEC_API = 'dynamic-security';

export const getClient = (username: string): ControlCall => ({ command: 'getClient', fields: { username } });
export const getGroup = (groupname: string): ControlCall => ({ command: 'getGroup', fields: { groupname } });
export const getRole = (rolename: string): ControlCall => ({ command: 'getRole', fields: { rolename } });

/**
 * The address of each session in the response `{ client: { connections } }` of Mosquitto 2.1, including offline ones.
 * `null` if the broker does not report them.
 */
export function parseConnections(data: unknown): (string | null)[] | null {
  const client = isFields(data) && isFields(data.client) ? data.client : {};
  if (!Array.isArray(client.connections)) return null;
  return client.connections.map((entry) =>
    isFields(entry) && typeof entry.address === 'string' ? entry.address : null,
  );
}

/** The group name in the response `{ group: { groupname } }`. `null` if it is missing or empty. */
export function parseAnonymousGroup(data: unknown): string | null {
  const group = isFields(data) ? data.group : null;
  const groupname = isFields(group) ? group.groupname : group;
  return typeof groupname === 'string' && groupname !== '' ? groupname : null;
}
