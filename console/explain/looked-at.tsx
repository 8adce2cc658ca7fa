import { Link } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import { useBroker } from '../broker/broker-context.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import { type AclType, whyTexts } from './texts.ts';

export interface LookedAt {
  readonly roleName: string;
  readonly groupName: string | null;
  readonly priority: number;
  readonly verdict: 'MATCHED' | 'NOT_MATCHED' | 'UNDECIDABLE' | 'WILDCARD_DENIED' | 'INVALID_DENIED';
  /** `null`: the role denies subscriptions with wildcards. */
  readonly rule: {
    readonly aclType: AclType;
    readonly topic: string;
    readonly allow: boolean;
    readonly priority: number;
  } | null;
}

/** The rule that decided, in a sentence. */
export function DecidingRule({ decidedBy }: { readonly decidedBy: LookedAt }) {
  const text = useTexts(whyTexts);
  const { rule, roleName, groupName, verdict } = decidedBy;
  const through = groupName === null ? '' : ` ${text('throughGroupName', { group: groupName })}`;
  return (
    <p className="why-rule">
      {rule === null
        ? text('wildcardsOfRole', { role: roleName })
        : text(verdict === 'INVALID_DENIED' ? 'ruleIsInvalid' : rule.allow ? 'ruleAllows' : 'ruleDenies', {
            role: roleName,
            kind: text(rule.aclType),
            topic: rule.topic,
            priority: rule.priority,
          })}
      {through}
    </p>
  );
}

/** The rules that the broker evaluates, up to the deciding one. */
export function RulesLookedAt({ rules }: { readonly rules: readonly LookedAt[] }) {
  const text = useTexts(whyTexts);
  const { id } = useBroker();
  const columns: Column<LookedAt>[] = [
    {
      key: 'role',
      title: text('role'),
      cell: ({ roleName }) => <Link href={accessAddress(id, 'roles', { name: roleName })}>{roleName}</Link>,
      value: ({ roleName }) => roleName,
    },
    {
      key: 'group',
      title: text('throughGroup'),
      cell: ({ groupName }) =>
        groupName === null ? '–' : <Link href={accessAddress(id, 'groups', { name: groupName })}>{groupName}</Link>,
      value: ({ groupName }) => groupName,
    },
    { key: 'kind', title: text('ruleType'), cell: ({ rule }) => (rule ? text(rule.aclType) : text('wildcards')) },
    {
      key: 'topic',
      title: text('topic'),
      cell: ({ rule }) => (rule ? <code>{rule.topic}</code> : '–'),
      value: ({ rule }) => rule?.topic,
    },
    { key: 'allow', title: text('ruleSays'), cell: ({ rule }) => text(rule?.allow ? 'allow' : 'deny') },
    { key: 'priority', title: text('priority'), cell: ({ rule }) => rule?.priority ?? '–', isNumber: true },
    {
      key: 'verdict',
      title: text('verdict'),
      cell: ({ verdict }) =>
        verdict === 'NOT_MATCHED' || verdict === 'UNDECIDABLE' ? (
          <span className="quiet">{text(verdict)}</span>
        ) : (
          <strong>{text(verdict)}</strong>
        ),
      value: ({ verdict }) => verdict,
    },
  ];
  return (
    <Table
      label={text('rulesLookedAt')}
      columns={columns}
      rows={rules}
      keyOf={({ roleName, groupName, rule }) => JSON.stringify([roleName, groupName, rule])}
    />
  );
}
