import { type ScriptedBroker, startScriptedBroker } from '../../../support/aedes-broker.ts';

/** A broker that serves the reading commands of `dynamic-security` from what the test puts in, whatever it is. */
interface ScriptedDynsec extends ScriptedBroker {
  readonly clients: Map<string, unknown>;
  readonly groups: Map<string, unknown>;
  readonly roles: Map<string, unknown>;
  /** Null: it does not serve the API `broker`. */
  plugins: unknown;
  /** Null: it does not know `getDetails`. */
  changeIndex: number | null;
  /** Before each page of clients that is longer than one. */
  beforePage: (offset: number) => void;
  /** Makes the only entry of every page of clients, of which there are always more. */
  endless: ((offset: number) => unknown) | null;
}

interface Command {
  readonly command: string;
  readonly correlationData: string;
  readonly count?: number;
  readonly offset?: number;
  readonly verbose?: boolean;
  readonly username?: string;
  readonly groupname?: string;
  readonly rolename?: string;
}

export async function startDynsec({
  clients: count,
  changeIndex = null,
}: {
  readonly clients: number;
  readonly changeIndex?: number | null;
}): Promise<ScriptedDynsec> {
  const clients = new Map<string, unknown>(
    Array.from({ length: count }, (_, n) => `c${String(n).padStart(4, '0')}`).map((username) => [
      username,
      { username },
    ]),
  );
  const groups = new Map<string, unknown>([['all', { groupname: 'all', clients: [] }]]);
  const roles = new Map<string, unknown>();
  const list = (objects: Map<string, unknown>, { count: most = -1, offset = 0, verbose = false }: Command) => {
    const names = [...objects.keys()].sort().slice(offset, most < 0 ? undefined : offset + most);
    return { totalCount: objects.size, list: names.map((name) => (verbose ? objects.get(name) : name)) };
  };
  const answer = (command: Command): Record<string, unknown> => {
    const { username = '', groupname = '', rolename = '' } = command;
    const one = (key: string, object: unknown) =>
      object === undefined ? { error: `${key} not found` } : { data: { [key.toLowerCase()]: object } };
    switch (command.command) {
      case 'getDetails':
        return served.changeIndex === null
          ? { error: 'Unknown command' }
          : { data: { changeIndex: served.changeIndex } };
      case 'getDefaultACLAccess':
        return { data: { acls: [] } };
      case 'getAnonymousGroup':
        return { data: { group: { groupname: '' } } };
      case 'listClients': {
        if (command.count !== 1) served.beforePage(command.offset ?? 0);
        const { offset = 0, count: most = -1 } = command;
        if (served.endless !== null) {
          const found = Array(most === 1 ? 1 : 2).fill(served.endless(offset));
          return { data: { totalCount: 199_999, clients: found } };
        }
        const { totalCount, list: found } = list(clients, command);
        return { data: { totalCount, clients: found } };
      }
      case 'listGroups': {
        const { totalCount, list: found } = list(groups, command);
        return { data: { totalCount, groups: found } };
      }
      case 'listRoles': {
        const { totalCount, list: found } = list(roles, command);
        return { data: { totalCount, roles: found } };
      }
      case 'getClient':
        return one('Client', clients.get(username));
      case 'getGroup':
        return one('Group', groups.get(groupname));
      case 'getRole':
        return one('Role', roles.get(rolename));
      default:
        return { error: 'Unknown command' };
    }
  };
  const broker = await startScriptedBroker((topic, payload) => {
    const { commands } = JSON.parse(payload) as { commands: Command[] };
    if (topic === '$CONTROL/broker/v1' && served.plugins !== null) {
      const responses = commands.map(({ command, correlationData }) => {
        return { command, correlationData, data: { plugins: served.plugins } };
      });
      return [JSON.stringify({ responses })];
    }
    if (topic !== '$CONTROL/dynamic-security/v1') return [];
    const responses = commands.map((command) => ({
      command: command.command,
      correlationData: command.correlationData,
      ...answer(command),
    }));
    return [JSON.stringify({ responses })];
  });
  const served: ScriptedDynsec = {
    ...broker,
    clients,
    groups,
    roles,
    plugins: null,
    changeIndex,
    beforePage: () => undefined,
    endless: null,
  };
  return served;
}

/** How often each command was sent. */
export function countedCommands(requests: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const request of requests) {
    for (const { command } of (JSON.parse(request) as { commands: Command[] }).commands) {
      counts[command] = (counts[command] ?? 0) + 1;
    }
  }
  return counts;
}
