import { randomUUID } from 'node:crypto';
import { type Client, NoSuchObjectError } from 'ldapts';
import type { Finding } from '../finding.ts';
import { connectedTo } from './ldap-connection.ts';
import { filled, type LdapDirectoryOptions } from './ldap-directory.ts';

const MAX_TOLD = 5;
const TIME_LIMIT_S = 5;

type Options = Omit<LdapDirectoryOptions, 'accounts' | 'log'>;

/** Connects, binds and searches as signing in does; `login`: for that person, else for one whom nobody is. */
export async function examineLdap(options: Options, login: string | null): Promise<readonly Finding[]> {
  const { url, bind, userBase, groupBase } = options;
  let step = url.startsWith('ldap:') && options.startTls ? `${url} with StartTLS` : url;
  try {
    return await connectedTo(options, async (client) => {
      step = bind === null ? step : `${url}, as ${bind.dn} (LDAP_BIND_DN, LDAP_BIND_PASSWORD)`;
      if (bind !== null) await client.bind(bind.dn, bind.password);
      const findings: Finding[] = [];
      step = 'LDAP_USER_BASE';
      findings.push(await baseOf(client, step, userBase));
      step = 'LDAP_GROUP_BASE';
      if (groupBase !== null) findings.push(await baseOf(client, step, groupBase));
      step = 'LDAP_USER_FILTER';
      findings.push(await personOf(client, options, login));
      const named = bind === null ? 'without a name' : `as ${bind.dn}`;
      return [{ setting: 'LDAP_URL', works: true, told: [`${url} answers ${named}`] }, ...findings];
    });
  } catch (error) {
    // Of the error only its words: it may hold what was sent.
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
    return [{ setting: 'LDAP_URL', works: false, told: [`${step}: ${reason}`] }];
  }
}

async function baseOf(client: Client, setting: string, base: string): Promise<Finding> {
  try {
    await client.search(base, {
      scope: 'base',
      filter: '(objectClass=*)',
      attributes: ['1.1'],
      timeLimit: TIME_LIMIT_S,
    });
    return { setting, works: true, told: [`${base} is there`] };
  } catch (error) {
    if (!(error instanceof NoSuchObjectError)) throw error;
    return { setting, works: false, told: [`${base} is not there, or this account may not see it`] };
  }
}

async function personOf(
  client: Client,
  { userBase, userFilter, groupBase, groupFilter }: Options,
  login: string | null,
): Promise<Finding> {
  const filter = filled(userFilter, { login: login ?? randomUUID() });
  const people = await found(client, userBase, filter, ['mail']);
  const setting = 'LDAP_USER_FILTER';
  if (login === null)
    return { setting, works: true, told: ['the directory can be searched; --login looks for somebody'] };
  const [person] = people;
  if (person === undefined || people.length > 1) {
    return {
      setting,
      works: false,
      told: [`${person === undefined ? 'nobody' : 'more than one'} is found by ${filter}`],
    };
  }
  const told = [
    `${login} is ${person.dn}`,
    `mail: ${[person.mail ?? []].flat()[0] ?? 'none, so that no account is made'}`,
  ];
  if (groupBase !== null) {
    const groups = await found(client, groupBase, filled(groupFilter, { dn: person.dn, login }), ['cn']);
    const more = groups.length > MAX_TOLD ? ` and ${groups.length - MAX_TOLD} more` : '';
    told.push(
      `groups: ${
        groups
          .slice(0, MAX_TOLD)
          .map(({ dn }) => dn)
          .join('; ') || 'none'
      }${more}`,
    );
  }
  return { setting, works: true, told };
}

async function found(client: Client, base: string, filter: string, attributes: string[]) {
  const options = { scope: 'sub', filter, attributes, sizeLimit: 100, timeLimit: TIME_LIMIT_S } as const;
  try {
    return (await client.search(base, options)).searchEntries;
  } catch (error) {
    if (error instanceof NoSuchObjectError) return [];
    throw error;
  }
}
