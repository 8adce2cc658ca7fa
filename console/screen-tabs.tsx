import { type ComponentType, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { Link, Route, Switch } from 'wouter';
import { NoScreen } from './error-pages/no-screen.tsx';
import { usePageTitle } from './ui/page-title.ts';
import { Problem } from './ui/problem.tsx';

interface Tab {
  /** In the address. */
  readonly key: string;
  readonly title: string;
  readonly Screen: ComponentType;
  /** After the title, for example a number of problems. */
  readonly badge?: ReactNode;
}

interface ScreenTabsProps {
  readonly label: string;
  /** Address above the screens, such as `/brokers/brk_1`, where the first screen is shown. */
  readonly address: string;
  /** The same with the parameter of the route: `/brokers/:broker`. */
  readonly path: string;
  /** The rest of the current address. */
  readonly rest: string;
  readonly tabs: readonly Tab[];
}

/** The screen in the rest of an address, or `''` for the first one. */
export function tabOf(rest: string, tabs: readonly Pick<Tab, 'key'>[]): string {
  const [current = ''] = rest.split('/').filter((part) => part !== '');
  return current === tabs[0]?.key ? '' : current;
}

/** A menu of screens, and the one of the current address. */
export function ScreenTabs({ label, address, path, rest, tabs }: ScreenTabsProps) {
  const first = tabs[0]?.key;
  const current = tabOf(rest, tabs) || first;
  usePageTitle('SCREEN', tabs.find(({ key }) => key === current)?.title ?? '');
  const menu = useRef<HTMLElement>(null);
  // A narrow display shows only some of the tabs.
  useEffect(() => {
    menu.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <>
      <nav ref={menu} className="tabs" aria-label={label}>
        {tabs.map(({ key, title, badge }) => (
          <Link
            key={key}
            href={key === first ? address : `${address}/${key}`}
            aria-current={key === current ? 'page' : undefined}
          >
            {title}
            {badge}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<Problem error={null} />}>
        <Switch>
          {tabs.map(({ key, Screen }) => (
            <Route key={key} path={key === first ? path : `${path}/${key}/*?`} component={Screen} />
          ))}
          <Route component={NoScreen} />
        </Switch>
      </Suspense>
    </>
  );
}
