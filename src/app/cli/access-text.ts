import type { BlastRadius, WriteReport } from '../../domains/access-control/writing/access-report.ts';
import type { Explanation, LookedAtRule } from '../../protocol/apis/access-control/access-explanation.ts';
import { shown, table, textOfLines } from './terminal.ts';

export interface ShownImport extends Pick<WriteReport, 'outcome' | 'changes'> {
  readonly notes: readonly string[];
  readonly needPassword: readonly string[];
  readonly blastRadius: BlastRadius & { readonly clientCount: number };
}

/** Maximum number of printed names and connections per list. `--json` prints all. */
const MAX_SHOWN = 20;

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
        ? 'Set passwords with `--passwords` and `--set-passwords`, the mutation setAccountPassword, or REST: PUT …/clients with user name and password.'
        : 'Set passwords with `--passwords` when the accounts are created.',
    );
  }
  if (notes.length > 0) lines.push('', ...notes.map((note) => `Note: ${shown(note)}`));
  return textOfLines(lines);
}

/** Lists the disconnected clients. If the broker does not know all connected clients, it also lists the accounts. */
function kickLines(
  { clientCount, clients, usernames, anonymous, gateway, isComplete }: ShownImport['blastRadius'],
  applied: boolean,
): string[] {
  const lines: string[] = [];
  const hasAccounts = usernames.length > 0 || anonymous;
  const disconnects = applied ? 'Disconnected' : 'Disconnects';
  if (clientCount > 0) {
    const named = clients.slice(0, MAX_SHOWN);
    lines.push(
      `${disconnects} ${clientCount === 1 ? '1 connection' : `${clientCount} connections`}:`,
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
    lines.push(`The broker does not list all connected clients. ${disconnects} all clients ${whose.join(' or ')}.`);
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

const REASONS: Readonly<Record<Explanation['reason'], string>> = {
  BROKER: 'the broker itself refuses, independent of the rules',
  RULE: 'by the last rule below',
  DEFAULT: 'by the default: no rule matched',
  CONTROL_TOPIC: 'no rule matched, and the default never allows topics below $CONTROL',
  UNKNOWN_USER: 'the account does not exist',
  DISABLED: 'the account is disabled and cannot connect',
  CLIENT_ID: 'the account cannot connect with this client id',
};

interface ShownRule extends Pick<LookedAtRule, 'verdict' | 'rule'> {
  readonly roleName: string;
  readonly groupName: string | null;
}

export interface ShownExplanation extends Omit<Explanation, 'lookedAt'> {
  readonly lookedAt: readonly ShownRule[];
}

export function explanationText(explanation: ShownExplanation): string {
  const { allowed, reason, conditional, elsewhere, remarks, lookedAt, lookedAtTotal } = explanation;
  const lines = [`${allowed ? 'ALLOWED' : 'DENIED'}: ${REASONS[reason]}`];
  if (conditional) lines.push('With another client id the result is the opposite.');
  const rows = lookedAt.map(({ roleName, groupName, verdict, rule }) => [
    roleName,
    groupName ?? '-',
    rule === null ? 'no wildcards' : `${rule.allow ? 'allow' : 'deny'} ${typeText(rule.aclType)}`,
    rule?.topic ?? '-',
    String(rule?.priority ?? '-'),
    verdict.toLowerCase().replaceAll('_', ' '),
  ]);
  const head = ['ROLE', 'BY GROUP', 'RULE', 'TOPIC', 'PRIORITY', 'VERDICT'];
  if (rows.length > 0) lines.push('', table([head, ...rows]).trimEnd());
  if (lookedAtTotal > rows.length) lines.push(`… and ${lookedAtTotal - rows.length} more`);
  const words = [...remarks, ...(elsewhere === null ? [] : [elsewhere])];
  if (words.length > 0) lines.push('', ...words.map(shown));
  return textOfLines(lines);
}

const typeText = (aclType: string): string =>
  aclType.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
