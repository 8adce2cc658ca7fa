import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import { useAccess } from './access-context.ts';
import { accessAddress } from './addresses.ts';
import { accessTexts } from './texts.ts';

export const ACL_TYPES = [
  'PUBLISH_CLIENT_SEND',
  'PUBLISH_CLIENT_RECEIVE',
  'SUBSCRIBE_PATTERN',
  'SUBSCRIBE_LITERAL',
  'UNSUBSCRIBE_PATTERN',
  'UNSUBSCRIBE_LITERAL',
] as const;

export interface Rule {
  readonly aclType: (typeof ACL_TYPES)[number];
  readonly topic: string;
  readonly allow: boolean;
  readonly priority: number;
}

/** A rule with the role that has it, and the group that holds the role. */
export interface ListedRule extends Rule {
  readonly roleName?: string;
  readonly groupName?: string | null;
}

/** Rules in the order in which the broker evaluates them. */
export function Rules({ label, rules }: { readonly label: string; readonly rules: readonly ListedRule[] }) {
  const text = useTexts(accessTexts);
  const { brokerId } = useAccess();
  if (rules.length === 0) return <p>{text('noRules')}</p>;
  const columns: Column<ListedRule>[] = [
    { key: 'topic', title: text('topic'), cell: ({ topic }) => <code>{topic}</code>, value: ({ topic }) => topic },
    { key: 'type', title: text('ruleType'), cell: ({ aclType }) => text(aclType) },
    {
      key: 'allow',
      title: text('decision'),
      cell: ({ allow }) => (
        <span className={allow ? 'access-allowed' : 'access-denied'}>{text(allow ? 'allows' : 'denies')}</span>
      ),
      value: ({ allow }) => (allow ? 'allow' : 'deny'),
    },
    { key: 'priority', title: text('priority'), cell: ({ priority }) => priority, isNumber: true },
  ];
  if (rules.some(({ roleName }) => roleName !== undefined)) {
    columns.push(
      {
        key: 'role',
        title: text('role'),
        cell: ({ roleName = '' }) => (
          <Link href={accessAddress(brokerId, 'roles', { name: roleName })}>{roleName}</Link>
        ),
        value: ({ roleName }) => roleName,
      },
      {
        key: 'group',
        title: text('throughGroup'),
        cell: ({ groupName }) =>
          groupName ? <Link href={accessAddress(brokerId, 'groups', { name: groupName })}>{groupName}</Link> : '–',
        value: ({ groupName }) => groupName,
      },
    );
  }
  return (
    <Table
      label={label}
      columns={columns}
      rows={rules}
      keyOf={({ aclType, topic, roleName, groupName }) => JSON.stringify([aclType, topic, roleName, groupName])}
    />
  );
}
