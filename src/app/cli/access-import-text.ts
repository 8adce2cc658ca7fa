import { shown } from './terminal.ts';

/** What the graph tells of an import, planned or applied. */
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

/** Names and connections shown of a list; `--json` tells all. */
const MAX_SHOWN = 20;

/** `applied`: it was done, as far as the states of the commands tell. */
export function importText({ changes, blastRadius, notes, needPassword }: ShownImport, applied: boolean): string {
  const lines: string[] = [];
  if (changes.length === 0) lines.push('Nothing to change.');
  /** Nobody is connected with an account that was not there. */
  const made = new Set<unknown>();
  for (const { commands, error } of changes) {
    for (const { command, fields, state, error: refusal } of commands) {
      lines.push(`${state.padEnd(9)} ${command} ${fieldsText(fields)}`.trimEnd());
      if (refusal) lines.push(`          ${shown(refusal.message)}`);
      if (command === 'createClient') made.add(fields.username);
    }
    if (error && commands.every((command) => command.error === null)) lines.push(`REFUSED   ${shown(error.message)}`);
  }
  const usernames = blastRadius.usernames.filter((username) => !made.has(username));
  lines.push(...kickLines({ ...blastRadius, usernames }, applied));
  if (needPassword.length > 0) {
    lines.push(
      '',
      `Nobody can connect with these before they have a password: ${names(needPassword)}`,
      applied
        ? 'Give them one by `--passwords` with `--set-passwords`, by the mutation setAccessClientPassword, or by REST: PUT …/clients with user name and password.'
        : '`--passwords` gives them one as they are made.',
    );
  }
  if (notes.length > 0) lines.push('', ...notes.map((note) => `Note: ${shown(note)}`));
  return lines.map((line) => `${line}\n`).join('');
}

/** Who is connected says more than accounts, which may have nobody connected; they are named where the broker cannot tell. */
function kickLines(
  { clientCount, clients, usernames, anonymous, gateway, isComplete }: ShownImport['blastRadius'],
  applied: boolean,
): string[] {
  const lines: string[] = [];
  const concerned = usernames.length > 0 || anonymous;
  if (clientCount > 0) {
    const named = clients.slice(0, MAX_SHOWN);
    lines.push(
      `${applied ? 'Disconnected' : 'Disconnects'} ${clientCount === 1 ? '1 connection' : `${clientCount} connections`}:`,
      ...named.map(({ clientId, username }) => `  ${shown(clientId)} (${shown(username ?? 'no user name')})`),
      ...(clientCount > named.length ? [`  and ${clientCount - named.length} more`] : []),
    );
  } else if (concerned && isComplete && !gateway) {
    lines.push(applied ? 'Nobody was connected who is concerned.' : 'Nobody is connected who would be disconnected.');
  }
  if (concerned && !isComplete) {
    const whose = [
      ...(usernames.length > 0 ? [`connected with ${names(usernames)}`] : []),
      ...(anonymous ? ['connected without user name'] : []),
    ];
    lines.push(
      `The broker does not tell all who are connected. ${applied ? 'Disconnected was' : 'Disconnects'} whoever is ${whose.join(' or ')}.`,
    );
  }
  if (gateway) lines.push(`This service itself ${applied ? 'was' : 'is'} disconnected, and comes back.`);
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
