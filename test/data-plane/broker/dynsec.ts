import type { MqttClient } from 'mqtt';
import { control } from './embedded.ts';

export type Command = Readonly<Record<string, unknown>>;

/** Runs commands of dynamic security in one payload and gives the answers. */
export const dynsec = (client: MqttClient, ...commands: readonly Command[]): Promise<Record<string, unknown>[]> =>
  control(client, 'dynamic-security', { commands });

/** As `dynsec`; a refusal is an error. */
export async function dynsecDone(client: MqttClient, ...commands: readonly Command[]): Promise<unknown[]> {
  const answers = await dynsec(client, ...commands);
  const refused = answers.find(({ error }) => error !== undefined);
  if (refused) throw new Error(JSON.stringify(refused));
  return answers.map(({ data }) => data);
}

const SPARE = 'spare';

/**
 * Leaves the administrator and what a broker begins with; a group without anything is the anonymous one, because that
 * one cannot be deleted.
 */
export async function clearAccess(admin: MqttClient): Promise<void> {
  const lists = await dynsecDone(
    admin,
    { command: 'listClients' },
    { command: 'listGroups' },
    { command: 'listRoles' },
  );
  const [{ clients }, { groups }, { roles }] = lists as [
    { clients: string[] },
    { groups: string[] },
    { roles: string[] },
  ];
  const allowed = { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true };
  await dynsecDone(
    admin,
    ...(groups.includes(SPARE) ? [] : [{ command: 'createGroup', groupname: SPARE }]),
    { command: 'setAnonymousGroup', groupname: SPARE },
    ...clients.filter((name) => name !== 'admin').map((username) => ({ command: 'deleteClient', username })),
    ...groups.filter((name) => name !== SPARE).map((groupname) => ({ command: 'deleteGroup', groupname })),
    ...roles.filter((name) => name !== 'admin').map((rolename) => ({ command: 'deleteRole', rolename })),
    {
      command: 'setDefaultACLAccess',
      acls: Object.entries(allowed).map(([acltype, allow]) => ({ acltype, allow })),
    },
  );
}
