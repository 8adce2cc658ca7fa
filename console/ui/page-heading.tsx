import { useEffect, useRef } from 'react';
import { usePageTitle } from './page-title.ts';

interface PageHeadingProps {
  readonly children: string;
  /** `OBJECT`: one of the things that a screen lists, below the name of its broker or project. Default: a place. */
  readonly of?: 'PLACE' | 'OBJECT';
}

let isFirst = true;

/**
 * The heading of what an address shows, which is in the title of the page. Who follows a link to it by keyboard or with
 * a screen reader goes on here, since the link is gone.
 */
export function PageHeading({ children, of = 'PLACE' }: PageHeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  usePageTitle(of, children);
  useEffect(() => {
    if (!isFirst && (document.activeElement ?? document.body) === document.body) heading.current?.focus();
    isFirst = false;
  }, []);
  const Heading = of === 'PLACE' ? 'h1' : 'h2';
  return (
    <Heading ref={heading} tabIndex={-1}>
      {children}
    </Heading>
  );
}
