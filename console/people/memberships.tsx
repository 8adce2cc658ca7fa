import { FolderKanban } from 'lucide-react';
import { Link } from 'wouter';
import { projectTexts } from '../project/texts.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Empty } from '../ui/empty.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { peopleTexts } from './texts.ts';

interface Membership {
  readonly createdAt: string;
  readonly role: 'ADMIN' | 'EDITOR' | 'VIEWER';
  readonly project: { readonly id: string; readonly name: string };
}

interface MembershipsProps {
  readonly memberships: { readonly totalCount: number; readonly nodes: readonly Membership[] };
}

/** In which projects a person has which role, without those that the person owns. */
export function Memberships({ memberships: { totalCount, nodes } }: MembershipsProps) {
  const text = useTexts(peopleTexts);
  const roleText = useTexts(projectTexts);
  const numberText = useNumbers();
  if (totalCount === 0) return <Empty icon={FolderKanban} title={text('noMemberships')} />;
  const columns: Column<Membership>[] = [
    {
      key: 'project',
      title: text('project'),
      cell: ({ project: { id, name } }) => <Link href={`/projects/${id}/members`}>{name}</Link>,
      value: ({ project }) => project.name,
    },
    { key: 'role', title: text('role'), cell: ({ role }) => roleText(role), value: ({ role }) => role },
    {
      key: 'since',
      title: text('memberSince'),
      cell: ({ createdAt }) => <Time isRelative={true} at={createdAt} />,
      value: ({ createdAt }) => createdAt,
    },
  ];
  return (
    <>
      <Table label={text('memberships')} columns={columns} rows={nodes} keyOf={({ project }) => project.id} />
      {totalCount > nodes.length && <p className="quiet">{text('total', { count: numberText(totalCount) })}</p>}
    </>
  );
}
