import { useFresh } from '../graph/use-fresh.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useAccess } from './access-context.ts';
import { AgeFilter, PASSWORDS, useAge, usePasswordColumns } from './password-list.tsx';
import { passwordsTexts } from './passwords-texts.ts';

/** The accounts by the age of their passwords. */
export function Passwords() {
  const text = useTexts(passwordsTexts);
  const timeOf = useTimes();
  const { brokerId, revision } = useAccess();
  const age = useAge();
  const { page: number, offset, onPage } = usePage();
  const variables = { id: brokerId, offset, before: age.before };
  const { data, error } = useFresh(PASSWORDS, variables, revision);
  const page = data?.accountPasswords;
  const columns = usePasswordColumns(() => brokerId);
  return (
    <>
      <AgeFilter />
      <Refusal error={data === null ? null : error} />
      {!page && <Problem error={error} />}
      {page && (
        <>
          <p className="quiet">
            {text('passwordsSince', { time: page.recordedSince === null ? '–' : timeOf(page.recordedSince) })}{' '}
            {text('unknownMeans')}
          </p>
          {page.partEntries > 0 && <p className="note">{text('parts', { count: page.partEntries })}</p>}
          {page.totalCount === 0 && <p>{text('noOldPassword')}</p>}
          {page.nodes.length > 0 && (
            <Table
              label={text('passwordAges')}
              columns={columns}
              rows={page.nodes}
              keyOf={({ account }) => account?.username ?? ''}
            />
          )}
          <Pager page={number} total={page.totalCount} onPage={onPage} />
        </>
      )}
      <CopyAs document={PASSWORDS} variables={variables} />
    </>
  );
}
