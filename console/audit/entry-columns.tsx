import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import type { Entry } from './audit-entry.ts';
import { EntryDetails } from './entry-details.tsx';
import { auditTexts } from './texts.ts';
import { useOperation, What } from './what.tsx';
import { Who } from './who.tsx';

/** The columns of all tables of entries: who did what. */
export function useEntryColumns(): readonly Column<Entry>[] {
  const text = useTexts(auditTexts);
  const operationOf = useOperation();
  return [
    {
      key: 'actor',
      title: text('actor'),
      cell: (entry) => <Who entry={entry} />,
      value: ({ actorName, actorKind }) => actorName ?? text(actorKind),
    },
    {
      key: 'what',
      title: text('what'),
      cell: (entry) => (
        <>
          <What entry={entry} />
          <EntryDetails entry={entry} />
        </>
      ),
      value: operationOf,
    },
  ];
}
