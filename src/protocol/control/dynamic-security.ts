import { isFields } from './fields.ts';
import type { ControlCall } from './plugin.ts';

export const DYNSEC_API = 'dynamic-security';

export const getClient = (username: string): ControlCall => ({ command: 'getClient', fields: { username } });
export const getGroup = (groupname: string): ControlCall => ({ command: 'getGroup', fields: { groupname } });
export const getRole = (rolename: string): ControlCall => ({ command: 'getRole', fields: { rolename } });

/** The group name in the response `{ group: { groupname } }`. `null` if it is missing or empty. */
export function parseAnonymousGroup(data: unknown): string | null {
  const group = isFields(data) ? data.group : null;
  const groupname = isFields(group) ? group.groupname : group;
  return typeof groupname === 'string' && groupname !== '' ? groupname : null;
}
