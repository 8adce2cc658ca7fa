import { type ReactNode, useEffect } from 'react';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { useAddressValues } from './address-values.ts';

/** Rows of a page. */
export const PAGE = 50;

interface PagerProps {
  readonly page: number;
  readonly total: number;
  /** `how`: as in `useAddressValues`. Default: PUSH. */
  readonly onPage: (page: number, how?: 'REPLACE') => void;
}

/** Leads to the other pages of a list that is read by the number of the page. */
export function Pager({ page, total, onPage }: PagerProps) {
  const text = useTexts();
  const numberOf = useNumbers();
  const pages = Math.max(1, Math.ceil(total / PAGE));
  // The rows of the last page were deleted.
  const isBeyond = page > pages;
  useEffect(() => {
    if (isBeyond) onPage(pages, 'REPLACE');
  }, [isBeyond]);
  return (
    <Pages
      total={total}
      position={pages > 1 && <span>{text('pageOf', { page: numberOf(page), pages: numberOf(pages) })}</span>}
      onFirst={page > 2 && (() => onPage(1))}
      onPrevious={page > 1 && (() => onPage(page - 1))}
      onNext={page < pages && (() => onPage(page + 1))}
    />
  );
}

/** The page in the address: its number, and how many rows are before it. */
export function usePage() {
  const { values, set } = useAddressValues();
  const page = Math.max(1, Number(values.get('page')) || 1);
  const onPage: PagerProps['onPage'] = (next, how) => set({ page: next === 1 ? '' : String(next) }, how ?? 'PUSH');
  return { page, offset: (page - 1) * PAGE, onPage };
}

/** The cursor before or after a page; neither for the first page. */
export interface Cursor {
  readonly after?: string;
  readonly before?: string;
}

/** Names of the values in the address that `useCursor` has. */
export const CURSOR_KEYS = ['after', 'before'] as const;

/** The page of a list in the address, by cursors. */
export function useCursor() {
  const { values, set } = useAddressValues();
  const [after, before] = [values.get('after'), values.get('before')];
  const cursor: Cursor = { ...(after && { after }), ...(before && { before }) };
  const onCursor = (next: Cursor) => set({ after: '', before: '', ...next }, 'PUSH');
  return { cursor, onCursor };
}

export const isFirst = ({ after, before }: Cursor): boolean => after === undefined && before === undefined;

/** The arguments of a connection for a page. */
export const rangeOf = ({ after, before }: Cursor, size = PAGE) =>
  before === undefined ? { first: size, after: after ?? null } : { last: size, before };

export interface CursorPagerProps {
  readonly cursor: Cursor;
  readonly total?: number | undefined;
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly onCursor: (cursor: Cursor) => void;
}

/** Leads to the other pages of a list that changes while it is read: its pages have no numbers. */
export function CursorPager({ cursor, total, pageInfo, onCursor }: CursorPagerProps) {
  const { hasNextPage, hasPreviousPage, startCursor, endCursor } = pageInfo;
  return (
    <Pages
      total={total}
      onFirst={!isFirst(cursor) && (() => onCursor({}))}
      onPrevious={hasPreviousPage && startCursor !== null && (() => onCursor({ before: startCursor }))}
      onNext={hasNextPage && endCursor !== null && (() => onCursor({ after: endCursor }))}
    />
  );
}

interface ForwardPagerProps {
  /** The cursors before the pages from the second to the present one. */
  readonly afters: readonly string[];
  readonly pageInfo: Pick<CursorPagerProps['pageInfo'], 'hasNextPage' | 'endCursor'>;
  /** Whether the present page has no rows. */
  readonly isEmpty: boolean;
  readonly onAfters: (afters: readonly string[]) => void;
}

/** Leads to the other pages of a list that is read forwards only. */
export function ForwardPager({ afters, pageInfo, isEmpty, onAfters }: ForwardPagerProps) {
  const { hasNextPage, endCursor } = pageInfo;
  // The rows of the last page were deleted. A page that was read has a `pageInfo` of its own.
  useEffect(() => {
    if (isEmpty && afters.length > 0) onAfters(afters.slice(0, -1));
  }, [isEmpty, pageInfo]);
  return (
    <Pages
      onFirst={afters.length > 1 && (() => onAfters([]))}
      onPrevious={afters.length > 0 && (() => onAfters(afters.slice(0, -1)))}
      onNext={hasNextPage && endCursor !== null && (() => onAfters([...afters, endCursor]))}
    />
  );
}

interface PagesProps {
  readonly total?: number | undefined;
  readonly position?: ReactNode;
  /** `false`: there is no such page. */
  readonly onFirst: (() => void) | false;
  readonly onPrevious: (() => void) | false;
  readonly onNext: (() => void) | false;
}

function Pages({ total, position, onFirst, onPrevious, onNext }: PagesProps) {
  const text = useTexts();
  const numberOf = useNumbers();
  return (
    <p className="pager">
      {total !== undefined && <span className="quiet">{text('total', { count: numberOf(total) })}</span>}
      {(onFirst || onPrevious || onNext) && (
        <>
          <button type="button" disabled={!onFirst} onClick={onFirst || undefined}>
            {text('firstPage')}
          </button>
          <button type="button" disabled={!onPrevious} onClick={onPrevious || undefined}>
            {text('previousPage')}
          </button>
          {position}
          <button type="button" disabled={!onNext} onClick={onNext || undefined}>
            {text('nextPage')}
          </button>
        </>
      )}
    </p>
  );
}
