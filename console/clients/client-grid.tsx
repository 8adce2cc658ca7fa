import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { clientPath } from './client-address.ts';
import type { ClientColumn } from './client-columns.tsx';
import { GridHead } from './grid-head.tsx';
import { GridRow } from './grid-row.tsx';
import type { Rows } from './row-cache.ts';
import type { Order } from './selection.ts';
import { clientsTexts } from './texts.ts';

/** As in the style sheet, in pixels. */
const ROW_HEIGHT = 36;
const OVERSCAN = 8;
/** As in the style sheet: the first columns together, and each of the numbers after them. */
const NAMED = 6;
const NAMED_REM = 53.5;
const NUMBER_REM = 7;
/** More than the rows in the page. A row that leaves on one side is reused on the other one, which is faster. */
const MAX_ROWS = 64;

interface ClientGridProps {
  readonly brokerId: string;
  readonly rows: Rows;
  readonly columns: readonly ClientColumn[];
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
  readonly onVisible: (first: number, last: number) => void;
  /** When it changes, the list starts at its first row again. */
  readonly listKey: string;
  readonly isStale: boolean;
}

/** A table of any length, of which only the visible rows are in the page. One of them is the current row. */
export function ClientGrid(props: ClientGridProps) {
  const { brokerId, rows, columns, order, onOrder, onVisible, listKey, isStale } = props;
  const text = useTexts(clientsTexts);
  const [, navigate] = useLocation();
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const { totalCount } = rows.page;
  const [current, setCurrent] = useState(0);
  const virtual = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: totalCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    // The head covers the first row of the visible part.
    scrollMargin: ROW_HEIGHT,
    scrollPaddingStart: ROW_HEIGHT,
    useFlushSync: false,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onVisible(first, last), [first, last, listKey]);
  useEffect(() => {
    setCurrent(0);
    virtual.scrollToOffset(0);
  }, [listKey]);

  const rowsOfView = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2);
  const steps = new Map([
    ['ArrowDown', 1],
    ['ArrowUp', -1],
    ['PageDown', rowsOfView],
    ['PageUp', -rowsOfView],
    ['Home', Number.NEGATIVE_INFINITY],
    ['End', Number.POSITIVE_INFINITY],
  ]);
  const press = (event: KeyboardEvent) => {
    // Buttons of the head handle their own keys.
    if (event.target !== event.currentTarget) return;
    const step = steps.get(event.key);
    const row = rows.at(current);
    if (step !== undefined) {
      event.preventDefault();
      const next = Math.min(totalCount - 1, Math.max(0, current + step));
      setCurrent(next);
      virtual.scrollToIndex(next);
    } else if (event.key === 'Enter' && row) {
      event.preventDefault();
      navigate(clientPath(brokerId, row.clientId));
    }
  };
  const rowId = (index: number) => `${id}-${index}`;
  const isCurrentInPage = items.some(({ index }) => index === current);
  return (
    <div
      ref={scroller}
      className="clients-scroller"
      style={{ height: `max(20rem, min(100dvh - 17rem, ${(totalCount + 1) * ROW_HEIGHT + 2}px))` }}
    >
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the keyboard moves through its rows
        role="grid"
        tabIndex={0}
        className={isStale ? 'clients-grid stale' : 'clients-grid'}
        style={{ minWidth: `${NAMED_REM + NUMBER_REM * (columns.length - NAMED)}rem` }}
        aria-label={text('clients')}
        aria-rowcount={totalCount + 1}
        aria-activedescendant={isCurrentInPage ? rowId(current) : undefined}
        onKeyDown={press}
      >
        <GridHead columns={columns} order={order} onOrder={onOrder} />
        <tbody style={{ height: `${virtual.getTotalSize()}px` }}>
          {items.map(({ index, start }) => (
            <GridRow
              key={index % MAX_ROWS}
              id={rowId(index)}
              index={index}
              top={start - ROW_HEIGHT}
              client={rows.at(index)}
              columns={columns}
              isCurrent={index === current}
              onChoose={setCurrent}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}
