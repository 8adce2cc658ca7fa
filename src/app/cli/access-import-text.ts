import { shown } from './terminal.ts';

/** Result of a planned or applied import. */
export interface ShownImport {
  readonly outcome: string;
  readonly notes: readonly string[];
  readonly needPassword: readonly string[];
  readonly changes: readonly {
    readonly outcome: string;
    readonly commands: readonly {
      readonly command: string;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly state: string;
      readonly error: { readonly message: string } | null;
    }[];
    readonly error: { readonly message: string } | null;
  }[];
  readonly blastRadius: {
    readonly clientCount: number;
    readonly clients: readonly { readonly clientId: string; readonly username: string | null }[];
    readonly usernames: readonly string[];
    readonly anonymous: boolean;
    readonly gateway: boolean;
    readonly isComplete: boolean;
  };
}

/** Maximum number of printed names and connections per list. `--json` prints all. */
const MAX_SHOWN = 20;

/** `applied`: whether the import was applied; the states of the commands show how much of it. */
export function importText({ changes, blastRadius, notes, needPassword }: ShownImport, applied: boolean): string {
  const lines: string[] = [];
  if (changes.length === 0) lines.push('Nothing to change.');
  /** No client is connected with an account that did not exist. */
  const created = new Set<unknown>();
  for (const { commands, error } of changes) {
    for (const { command, fields, state, error: refusal } of commands) {
      lines.push(`${state.padEnd(9)} ${command} ${fieldsText(fields)}`.trimEnd());
      if (refusal) lines.push(`          ${shown(refusal.message)}`);
      if (command === 'createClient') created.add(fields.username);
    }
    if (error && commands.every((command) => command.error === null)) lines.push(`REFUSED   ${shown(error.message)}`);
  }
  const usernames = blastRadius.usernames.filter((username) => !created.has(username));
  lines.push(...kickLines({ ...blastRadius, usernames }, applied));
  if (needPassword.length > 0) {
    lines.push(
      '',
      `Clients cannot connect with these accounts before they have a password: ${names(needPassword)}`,
      applied
        ? 'Set passwords with `--passwords` and `--set-passwords`, the mutation setAccessClientPassword, or REST: PUT …/clients with user name and password.'
        : 'Set passwords with `--passwords` when the accounts are created.',
    );
  }
  if (notes.length > 0) lines.push('', ...notes.map((note) => `Note: ${shown(note)}`));
  return lines.map((line) => `${line}\n`).join('');
}

/** Lists the disconnected clients. If the broker does not know all connected clients, it also lists the accounts. */
function kickLines(
  { clientCount, clients, usernames, anonymous, gateway, isComplete }: ShownImport['blastRadius'],
  applied: boolean,
): string[] {
  const lines: string[] = [];
  const hasAccounts = usernames.length > 0 || anonymous;
  if (clientCount > 0) {
    const named = clients.slice(0, MAX_SHOWN);
    lines.push(
      `${applied ? 'Disconnected' : 'Disconnects'} ${clientCount === 1 ? '1 connection' : `${clientCount} connections`}:`,
      ...named.map(({ clientId, username }) => `  ${shown(clientId)} (${shown(username ?? 'no user name')})`),
      ...(clientCount > named.length ? [`  and ${clientCount - named.length} more`] : []),
    );
  } else if (hasAccounts && isComplete && !gateway) {
    lines.push(applied ? 'No connected client was affected.' : 'No connected client is affected.');
  }
  if (hasAccounts && !isComplete) {
    const whose = [
      ...(usernames.length > 0 ? [`connected with ${names(usernames)}`] : []),
      ...(anonymous ? ['connected without user name'] : []),
    ];
    lines.push(
      `The broker does not list all connected clients. ${applied ? 'Disconnected' : 'Disconnects'} all clients ${whose.join(' or ')}.`,
    );
  }
  if (gateway) lines.push(`This service itself ${applied ? 'was' : 'is'} disconnected, and reconnects.`);
  return lines.length > 0 ? ['', ...lines] : [];
}

function names(all: readonly string[]): string {
  const more = all.length > MAX_SHOWN ? ` and ${all.length - MAX_SHOWN} more` : '';
  return `${all.slice(0, MAX_SHOWN).map(shown).join(', ')}${more}`;
}

const fieldsText = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${shown(JSON.stringify(value) ?? '')}`)
    .join(' ');
