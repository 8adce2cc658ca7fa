import { type ReactNode, useEffect, useState } from 'react';
import { Link, useRoute } from 'wouter';
import { addressOf } from './graph/addresses.ts';
import { onConnection } from './graph/sockets.ts';
import { Search } from './search/search.tsx';
import { useViewer } from './session/session.ts';
import { useTexts } from './texts/texts.ts';
import { UserMenu } from './user-menu/user-menu.tsx';
import { Logo } from './ui/logo.tsx';

interface FrameProps {
  readonly language: string;
  readonly onLanguage: (language: string) => void;
  readonly onSignOut: () => void;
  readonly children: ReactNode;
}

/** The menu, the menu of the user and the state of the connection, around every screen. */
export function Frame({ language, onLanguage, onSignOut, children }: FrameProps) {
  const text = useTexts();
  const viewer = useViewer();
  const [isLost, setLost] = useState(false);
  useEffect(() => onConnection((isOpen) => setLost(!isOpen)), []);
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {text('skip')}
      </button>
      <nav aria-label={text('menu')}>
        <strong>
          <Logo /> Brokergraph
        </strong>
        <Entry href="/">{text('fleet')}</Entry>
        {viewer.isRootAdmin && <Entry href="/people">{text('people')}</Entry>}
        {viewer.isRootAdmin && <Entry href="/audit">{text('audit')}</Entry>}
        <a href={addressOf('graphql')}>{text('explorer')}</a>
        <span className="space" />
        <Search />
        <UserMenu language={language} onLanguage={onLanguage} onSignOut={onSignOut} />
      </nav>
      {isLost && (
        <p className="lost" role="status">
          {text('lost')}
        </p>
      )}
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

function Entry({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const [isHere] = useRoute(href === '/' ? href : `${href}/*?`);
  return (
    <Link href={href} aria-current={isHere ? 'page' : undefined}>
      {children}
    </Link>
  );
}
