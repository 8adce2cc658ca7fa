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

export function importText({ changes, blastRadius, notes, needPassword }: ShownImport): string {
  const lines: string[] = [];
  if (changes.length === 0) lines.push('Nothing to change.');
  for (const { commands, error } of changes) {
    for (const { command, fields, state, error: refusal } of commands) {
      lines.push(`${state.padEnd(9)} ${command} ${fieldsText(fields)}`.trimEnd());
      if (refusal) lines.push(`          ${shown(refusal.message)}`);
    }
    if (error && commands.every((command) => command.error === null)) lines.push(`REFUSED   ${shown(error.message)}`);
  }
  lines.push(...kickLines(blastRadius));
  if (needPassword.length > 0) {
    lines.push('', `Nobody can connect with these before they have a password: ${names(needPassword)}`);
  }
  if (notes.length > 0) lines.push('', ...notes.map((note) => `Note: ${shown(note)}`));
  return lines.map((line) => `${line}\n`).join('');
}

function kickLines({
  clientCount,
  clients,
  usernames,
  anonymous,
  gateway,
  isComplete,
}: ShownImport['blastRadius']): string[] {
  if (usernames.length === 0 && !anonymous && !gateway) return [];
  const whose = [
    ...(usernames.length > 0 ? [`accounts ${names(usernames)}`] : []),
    ...(anonymous ? ['everybody without user name'] : []),
    ...(gateway ? ['this service, which comes back'] : []),
  ];
  const named = clients
    .slice(0, MAX_SHOWN)
    .map(({ clientId, username }) => `  ${shown(clientId)} (${shown(username ?? 'no user name')})`);
  return [
    '',
    `Disconnects ${whose.join('; ')}.`,
    `Connected of them now: ${clientCount}${isComplete ? '' : ' that are known; the broker does not tell all'}`,
    ...named,
    ...(clientCount > named.length ? [`  and ${clientCount - named.length} more`] : []),
  ];
}

function names(all: readonly string[]): string {
  const more = all.length > MAX_SHOWN ? ` and ${all.length - MAX_SHOWN} more` : '';
  return `${all.slice(0, MAX_SHOWN).map(shown).join(', ')}${more}`;
}

const fieldsText = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${shown(JSON.stringify(value) ?? '')}`)
    .join(' ');

/** Names are whatever somebody gave a broker; a terminal would obey what they hold. */
export const shown = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd');
