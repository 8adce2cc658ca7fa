import { LogOut } from 'lucide-react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { IconButton } from '../ui/icon-button.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { sessionTexts } from './texts.ts';

const END = graphql(`mutation EndSession($input: EndSessionInput!) {
  endSession(input: $input) { __typename }
}`);

interface Session {
  readonly id: string;
  readonly address: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly provider: string | null;
  readonly isCurrent: boolean;
}

interface SessionTableProps {
  readonly label: string;
  readonly sessions: readonly Session[];
  readonly onEnded: () => void;
}

/** The sessions of a person, each of which can be ended. That of this page ends with a sign-out. */
export function SessionTable({ label, sessions, onEnded }: SessionTableProps) {
  const text = useTexts(sessionTexts);
  const end = useMutation(END);
  const run = async (sessionId: string) => {
    if (await end.run({ input: { sessionId } })) onEnded();
  };
  const columns: Column<Session>[] = [
    { key: 'address', title: text('fromAddress'), cell: ({ address }) => address ?? text('unknown') },
    {
      key: 'created',
      title: text('signedInAt'),
      cell: ({ createdAt }) => <Time at={createdAt} />,
      value: ({ createdAt }) => createdAt,
    },
    {
      key: 'used',
      title: text('lastUsedAt'),
      cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
      value: ({ lastUsedAt }) => lastUsedAt,
    },
    { key: 'provider', title: text('signedInBy'), cell: ({ provider }) => provider ?? text('byPassword') },
    {
      key: 'actions',
      title: text('actions'),
      cell: ({ id, isCurrent, address }) =>
        isCurrent ? (
          text('thisSession')
        ) : (
          <IconButton
            icon={LogOut}
            label={text('endSessionFrom', { address: address ?? text('unknown') })}
            isDestructive={true}
            disabled={end.isBusy}
            onClick={() => void run(id)}
          />
        ),
    },
  ];
  return (
    <>
      <Refusal error={end.error} />
      <Table label={label} columns={columns} rows={sessions} keyOf={({ id }) => id} hasCsv={false} />
    </>
  );
}
