import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
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
  const [asked, setAsked] = useState<Session | null>(null);
  const titleOf = ({ address }: Session) => text('endSessionFrom', { address: address ?? text('unknown') });
  const run = async (sessionId: string) => {
    if ((await end.run({ input: { sessionId } })) === null) return;
    setAsked(null);
    onEnded();
  };
  const columns: Column<Session>[] = [
    { key: 'address', title: text('fromAddress'), cell: ({ address }) => address ?? text('unknown') },
    {
      key: 'created',
      title: text('signedInAt'),
      cell: ({ createdAt }) => <Time isRelative={true} at={createdAt} />,
      value: ({ createdAt }) => createdAt,
    },
    {
      key: 'used',
      title: text('lastUsedAt'),
      cell: ({ lastUsedAt }) => <Time isRelative={true} at={lastUsedAt} />,
      value: ({ lastUsedAt }) => lastUsedAt,
    },
    { key: 'provider', title: text('signedInBy'), cell: ({ provider }) => provider ?? text('byPassword') },
    {
      key: 'actions',
      title: text('actions'),
      cell: (session) =>
        session.isCurrent ? (
          text('thisSession')
        ) : (
          <RowMenu name={session.address ?? text('unknown')}>
            <button type="button" className="danger" onClick={() => setAsked(session)}>
              {titleOf(session)}
            </button>
          </RowMenu>
        ),
    },
  ];
  return (
    <>
      <Table label={label} columns={columns} rows={sessions} keyOf={({ id }) => id} hasCsv={false} />
      {asked && (
        <Confirmation
          title={titleOf(asked)}
          action={text('endSession')}
          isDestructive={true}
          isBusy={end.isBusy}
          error={end.error}
          onConfirm={() => void run(asked.id)}
          onClose={() => setAsked(null)}
        >
          <p>{text('endSessionMeans')}</p>
        </Confirmation>
      )}
    </>
  );
}
