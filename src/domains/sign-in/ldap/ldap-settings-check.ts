import { randomUUID } from 'node:crypto';
import { type Client, NoSuchObjectError } from 'ldapts';
import type { SettingCheck } from '../setting-check.ts';
import { connectedTo, describeLdapError } from './ldap-connection.ts';
import { filled, type LdapDirectoryOptions } from './ldap-directory.ts';

const MAX_LISTED_GROUPS = 5;
const TIME_LIMIT_S = 5;

type Options = Omit<LdapDirectoryOptions, 'accounts' | 'log'>;

/** Connects, binds and searches like a sign-in: for the user `login`, or for a random name without one. */
export async function checkLdapSettings(options: Options, login: string | null): Promise<readonly SettingCheck[]> {
  const { url, bind, userBase, groupBase } = options;
  let step = url.startsWith('ldap:') && options.startTls ? `${url} with StartTLS` : url;
  try {
    return await connectedTo(options, async (client) => {
      step = bind === null ? step : `${url}, as ${bind.dn} (LDAP_BIND_DN, LDAP_BIND_PASSWORD)`;
      if (bind !== null) await client.bind(bind.dn, bind.password);
      const checks: SettingCheck[] = [];
      step = 'LDAP_USER_BASE';
      checks.push(await checkBase(client, step, userBase));
      step = 'LDAP_GROUP_BASE';
      if (groupBase !== null) checks.push(await checkBase(client, step, groupBase));
      step = 'LDAP_USER_FILTER';
      checks.push(await checkUser(client, options, login));
      const named = bind === null ? 'without an account' : `as ${bind.dn}`;
      return [{ setting: 'LDAP_URL', works: true, messages: [`${url} accepts connections ${named}`] }, ...checks];
    });
  } catch (error) {
    return [{ setting: 'LDAP_URL', works: false, messages: [`${step}: ${describeLdapError(error)}`] }];
  }
}

async function checkBase(client: Client, setting: string, base: string): Promise<SettingCheck> {
  try {
    const anything = { filter: '(objectClass=*)', attributes: ['1.1'] };
    await client.search(base, { scope: 'base', ...anything, timeLimit: TIME_LIMIT_S });
    return { setting, works: true, messages: [`${base} exists`] };
  } catch (error) {
    if (!(error instanceof NoSuchObjectError)) throw error;
    return { setting, works: false, messages: [`${base} does not exist, or this account may not read it`] };
  }
}

async function checkUser(
  client: Client,
  { userBase, userFilter, groupBase, groupFilter }: Options,
  login: string | null,
): Promise<SettingCheck> {
  const filter = filled(userFilter, { login: login ?? randomUUID() });
  const users = await search(client, userBase, filter, ['mail']);
  const setting = 'LDAP_USER_FILTER';
  if (login === null)
    return { setting, works: true, messages: ['the directory can be searched; use --login to look for a user'] };
  const [user] = users;
  if (user === undefined || users.length > 1) {
    const matches = user === undefined ? 'no user matches' : 'several users match';
    return { setting, works: false, messages: [`${matches} ${filter}`] };
  }
  const messages = [
    `${login} is ${user.dn}`,
    `mail: ${[user.mail ?? []].flat()[0] ?? 'none, so no account can be created'}`,
  ];
  if (groupBase !== null) {
    const groups = await search(client, groupBase, filled(groupFilter, { dn: user.dn, login }), ['cn']);
    const more = groups.length > MAX_LISTED_GROUPS ? ` and ${groups.length - MAX_LISTED_GROUPS} more` : '';
    const listed = groups.slice(0, MAX_LISTED_GROUPS).map(({ dn }) => dn);
    messages.push(`groups: ${listed.join('; ') || 'none'}${more}`);
  }
  return { setting, works: true, messages };
}

async function search(client: Client, base: string, filter: string, attributes: string[]) {
  const options = { scope: 'sub', filter, attributes, sizeLimit: 100, timeLimit: TIME_LIMIT_S } as const;
  try {
    return (await client.search(base, options)).searchEntries;
  } catch (error) {
    if (error instanceof NoSuchObjectError) return [];
    throw error;
  }
}
