import { Bell, Braces, Building2, Cog, LayoutDashboard, type LucideIcon, ScrollText, Users } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useRoute } from 'wouter';
import { addressOf } from './graph/addresses.ts';
import { useService } from './graph/service.ts';
import { AskCritical, ShowCritical } from './problems/critical-count.tsx';
import { ProblemBadge } from './problems/problem-badge.tsx';
import { BROKER_SCREENS, projectScreensOf } from './screens.tsx';
import { Search } from './search/search.tsx';
import { useViewer } from './session/viewer.ts';
import { useTexts } from './texts/texts.ts';
import { Logo } from './ui/logo.tsx';
import { usePageAlerts, useShownTitle } from './ui/page-title.ts';
import { useZone } from './ui/use-zone.ts';
import { useShortcuts } from './user-menu/shortcuts.ts';
import { UserMenu } from './user-menu/user-menu.tsx';

/** Of brokers and projects, which the search finds. */
const SCREENS = { ofBroker: BROKER_SCREENS, ofProject: projectScreensOf };

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
  const title = useShownTitle();
  const zone = useZone();
  useShortcuts();
  const { live } = useService();
  const [critical, setCritical] = useState(0);
  const [isFleet] = useRoute('/');
  usePageAlerts(critical);
  const [isLost, setLost] = useState(false);
  useEffect(() => live.onChange((isOpen) => setLost(!isOpen)), [live]);
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {text('skip')}
      </button>
      <nav className="places" aria-label={text('menu')}>
        <strong>
          <Logo /> Brokergraph
        </strong>
        <Entry href="/" icon={LayoutDashboard} badge={<ProblemBadge counts={{ critical, warning: 0, notice: 0 }} />}>
          {text('fleet')}
        </Entry>
        {viewer.isRootAdmin && (
          <Entry href="/people" icon={Users}>
            {text('people')}
          </Entry>
        )}
        {viewer.isRootAdmin && (
          <Entry href="/audit" icon={ScrollText}>
            {text('audit')}
          </Entry>
        )}
        {viewer.isRootAdmin && (
          <Entry href="/notifications" icon={Bell}>
            {text('notifications')}
          </Entry>
        )}
        {viewer.isRootAdmin && (
          <Entry href="/organizations" icon={Building2}>
            {text('organizations')}
          </Entry>
        )}
        {viewer.isRootAdmin && (
          <Entry href="/service" icon={Cog}>
            {text('service')}
          </Entry>
        )}
        <a href={addressOf('graphql')}>
          <Braces aria-hidden="true" />
          <span>{text('explorer')}</span>
        </a>
        <span className="space" />
        <Search screens={SCREENS} />
        <UserMenu language={language} onLanguage={onLanguage} onSignOut={onSignOut} />
      </nav>
      <div className="page">
        {isLost && (
          <p className="lost" role="status">
            {text('lost')}
          </p>
        )}
        <p className="hidden" aria-live="polite">
          {title}
        </p>
        <main id="content" tabIndex={-1}>
          <ShowCritical value={setCritical}>
            {!isFleet && <AskCritical />}
            {children}
          </ShowCritical>
        </main>
        <footer className="quiet">{text('zone', { zone })}</footer>
      </div>
    </div>
  );
}

interface EntryProps {
  readonly href: string;
  readonly icon: LucideIcon;
  /** After the name, for example a number of problems. */
  readonly badge?: ReactNode;
  readonly children: string;
}

function Entry({ href, icon: Icon, badge, children }: EntryProps) {
  const [isHere] = useRoute(href === '/' ? href : `${href}/*?`);
  return (
    <Link href={href} aria-current={isHere ? 'page' : undefined}>
      <Icon aria-hidden="true" />
      <span>{children}</span>
      {badge}
    </Link>
  );
}
