import { shown, table } from './terminal.ts';

/** Result of `explainAccess`. */
export interface ShownExplanation {
  readonly allowed: boolean;
  readonly reason: string;
  readonly conditional: boolean;
  readonly elsewhere: string | null;
  readonly remarks: readonly string[];
  readonly lookedAtTotal: number;
  readonly lookedAt: readonly {
    readonly rolename: string;
    readonly groupname: string | null;
    readonly priority: number;
    readonly verdict: string;
    readonly rule: {
      readonly aclType: string;
      readonly topic: string;
      readonly priority: number;
      readonly allow: boolean;
    } | null;
  }[];
}

const REASONS: Readonly<Record<string, string>> = {
  BROKER: 'the broker itself refuses, independent of the rules',
  RULE: 'by the last rule below',
  DEFAULT: 'by the default: no rule matched',
  CONTROL_TOPIC: 'no rule matched, and the default never allows topics below $CONTROL',
  UNKNOWN_USER: 'the account does not exist',
  DISABLED: 'the account is disabled and cannot connect',
  CLIENT_ID: 'the account cannot connect with this client id',
};

export function explanationText(explanation: ShownExplanation): string {
  const { allowed, reason, conditional, elsewhere, remarks, lookedAt, lookedAtTotal } = explanation;
  const lines = [
    `${allowed ? 'ALLOWED' : 'DENIED'}: ${REASONS[reason] ?? reason}`,
    ...(conditional ? ['With another client id the result is the opposite.'] : []),
  ];
  const rows = lookedAt.map(({ rolename, groupname, verdict, rule }) => [
    rolename,
    groupname ?? '-',
    rule === null ? 'no wildcards' : `${rule.allow ? 'allow' : 'deny'} ${typeText(rule.aclType)}`,
    rule?.topic ?? '-',
    String(rule?.priority ?? '-'),
    verdict.toLowerCase().replaceAll('_', ' '),
  ]);
  if (rows.length > 0) {
    lines.push(
      '',
      ...table([['ROLE', 'BY GROUP', 'RULE', 'TOPIC', 'PRIORITY', 'VERDICT'], ...rows])
        .trimEnd()
        .split('\n'),
    );
  }
  if (lookedAtTotal > rows.length) lines.push(`… and ${lookedAtTotal - rows.length} more`);
  const words = [...remarks, ...(elsewhere === null ? [] : [elsewhere])];
  if (words.length > 0) lines.push('', ...words.map(shown));
  return lines.map((line) => `${line}\n`).join('');
}

/** The brokers' spelling: SUBSCRIBE_PATTERN is subscribePattern. */
const typeText = (aclType: string): string =>
  aclType.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
