import type { ReactNode } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import type { Certificate } from './certificates-query.ts';
import { certificateTexts } from './texts.ts';

type Facts = Pick<Certificate, 'subject' | 'subjectAltNames' | 'issuer' | 'validFrom' | 'validTo'>;

/** A new certificate next to the one that it replaces. */
export function Comparison({ previous, next }: { readonly previous: Facts; readonly next: Facts }) {
  const text = useTexts(certificateTexts);
  const rows: readonly { readonly title: string; readonly of: (facts: Facts) => ReactNode }[] = [
    { title: text('subject'), of: ({ subject }) => subject },
    { title: text('names'), of: ({ subjectAltNames }) => subjectAltNames.join(', ') || '–' },
    { title: text('issuer'), of: ({ issuer }) => issuer },
    { title: text('validFrom'), of: ({ validFrom }) => <Time at={validFrom} /> },
    { title: text('validTo'), of: ({ validTo }) => <Time at={validTo} /> },
  ];
  const columns: Column<(typeof rows)[number]>[] = [
    { key: 'title', title: text('certificate'), cell: ({ title }) => title },
    { key: 'previous', title: text('previous'), cell: (row) => row.of(previous) },
    { key: 'next', title: text('next'), cell: (row) => row.of(next) },
  ];
  return <Table label={text('comparison')} columns={columns} rows={rows} keyOf={({ title }) => title} hasCsv={false} />;
}
