import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { LiveMark } from '../ui/live-mark.tsx';
import { Problem } from '../ui/problem.tsx';
import { AccessContext, useAccessRevision } from './access-context.ts';
import { Accounts } from './accounts.tsx';
import { accessAddress } from './addresses.ts';
import { Defaults } from './defaults.tsx';
import { Documents } from './documents.tsx';
import { Groups } from './groups.tsx';
import { Passwords } from './passwords.tsx';
import { Roles } from './roles.tsx';
import { accessTexts } from './texts.ts';
import { Unavailable } from './unavailable.tsx';
import './style.css';

const ACCESS = graphql(`query AccessOf($id: ID!) {
  broker(id: $id) {
    viewerCanChangeAccessControl
    capabilities { api provider reason reasonCode }
    accessControl {
      accountCount
      groupCount
      roleCount
      isSettled
      unreadable
      knowsSubstitution
      knowsWildcardFlag
    }
  }
}`);

const PARTS = [
  { key: 'accounts', Part: Accounts },
  { key: 'groups', Part: Groups },
  { key: 'roles', Part: Roles },
  { key: 'passwordAges', Part: Passwords },
  { key: 'defaults', Part: Defaults },
  { key: 'documents', Part: Documents },
] as const;

/** Without access control there are no events, so the query is asked again. */
const RETRY_MS = 5_000;

/** Who may connect to a broker, and what they may do on it. `children`: what else has the context of the screen. */
export function Access({ children }: { readonly children: ReactNode }) {
  const text = useTexts(accessTexts);
  const numberOf = useNumbers();
  const { id, project } = useBroker();
  const [path] = useLocation();
  const { '*': rest = '' } = useParams<{ '*': string }>();
  const { revision, isLive } = useAccessRevision(id);
  const [tries, setTries] = useState(0);
  const { data, error } = useFresh(ACCESS, { id }, revision + tries);
  const access = data?.broker?.accessControl;
  const isMissing = data !== null && !access;
  useEffect(() => {
    if (!isMissing) return;
    const timer = setInterval(() => setTries((before) => before + 1), RETRY_MS);
    return () => clearInterval(timer);
  }, [isMissing]);
  if (!data?.broker) return <Problem error={error} />;
  if (!access) return <Unavailable error={error} capabilities={data.broker.capabilities ?? []} />;
  const here = PARTS.find(({ key }) => key === rest.split('/')[0]) ?? PARTS[0];
  const counts = { accounts: access.accountCount, groups: access.groupCount, roles: access.roleCount };
  return (
    <AccessContext.Provider
      value={{
        brokerId: id,
        revision,
        isLive,
        canChange: data.broker.viewerCanChangeAccessControl,
        knowsSubstitution: access.knowsSubstitution,
        knowsWildcardFlag: access.knowsWildcardFlag,
      }}
    >
      <nav className="tabs" aria-label={text('accessParts')}>
        {PARTS.filter(({ key }) => key !== 'passwordAges' || project.viewerCanReadAudit).map(({ key }) => (
          <Link key={key} href={accessAddress(id, key)} aria-current={key === here.key ? 'page' : undefined}>
            {text(key)}
            {key in counts && ` (${numberOf(counts[key as keyof typeof counts])})`}
          </Link>
        ))}
        <LiveMark isLive={isLive} />
      </nav>
      {!data.broker.viewerCanChangeAccessControl && <p className="note">{text('mayNotChange')}</p>}
      {!access.isSettled && <p className="note">{text('notSettled')}</p>}
      {access.unreadable > 0 && <p className="note">{text('unreadable', { count: access.unreadable })}</p>}
      <here.Part key={path} />
      {children}
    </AccessContext.Provider>
  );
}
