/** Describes the missing permissions in terms of Mosquitto's dynamic security. */
export function missingRights(filters: readonly string[], username: string | null): string {
  const patterns = filters.map((filter) => `"${filter}"`).join(', ');
  const account = username === null ? 'clients without a user name' : `user "${username}"`;
  const role = username === null ? 'A role of the group of anonymous clients' : `A role of "${username}"`;
  return (
    `The broker does not allow ${account} to subscribe to ${patterns}. ${role} needs, for each of these patterns, an ACL of ` +
    'type subscribePattern that allows the pattern, and one of type publishClientReceive that allows its topics.'
  );
}

/** By the types of ACLs of dynamic security. */
export interface NeededRights {
  readonly send?: readonly string[];
  readonly read: readonly string[];
}

const ROLE = 'brokergraph';
/** Before other roles of the account, which may deny the same. */
const PRIORITY = 1_000;
/** Of names in commands. */
const MAX_USERNAME = 200;

/** The commands, one per line, that grant rights to an account on a broker with dynamic security. */
export function grantCommands(username: string, { send = [], read }: NeededRights): string {
  if (username.length > MAX_USERNAME) return '';
  const acl = (type: string) => (topic: string) => `addRoleACL ${ROLE} ${type} ${quoted(topic)} allow`;
  const commands = [
    `createRole ${ROLE}`,
    ...send.map(acl('publishClientSend')),
    ...read.map(acl('subscribePattern')),
    ...read.map(acl('publishClientReceive')),
    `addClientRole ${quoted(username)} ${ROLE} ${PRIORITY}`,
  ];
  return commands.map((command) => `mosquitto_ctrl dynsec ${command}`).join('\n');
}

/** In quotes, a name is one word of the shell, and no part of a command. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
