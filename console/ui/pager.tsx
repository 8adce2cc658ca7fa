import { useNumbers, useTexts } from '../texts/texts.ts';

/** Rows of a page. */
export const PAGE = 50;

interface PagerProps {
  readonly page: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
}

/** Leads to the other pages of a list. */
export function Pager({ page, total, onPage }: PagerProps) {
  const text = useTexts();
  const numberOf = useNumbers();
  const pages = Math.max(1, Math.ceil(total / PAGE));
  return (
    <p className="pager">
      <span className="quiet">{text('total', { count: numberOf(total) })}</span>
      {pages > 1 && (
        <>
          <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
            {text('previousPage')}
          </button>
          <span>{text('pageOf', { page: numberOf(page), pages: numberOf(pages) })}</span>
          <button type="button" disabled={page >= pages} onClick={() => onPage(page + 1)}>
            {text('nextPage')}
          </button>
        </>
      )}
    </p>
  );
}
